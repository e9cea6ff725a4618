package idem_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/idem/internal/borrow"
	"github.com/pgidem/pgidem/internal/pgstub"
)

const mib = 1 << 20

// What an answer of 1 MiB allocates, in copies of it. On its way in pgx makes two, one in its parameters and one in its write
// buffer; on its way out one, for its read buffer is used again. Ours are those that a caller or the cache is to have of its own.
// In front of a stub, which allocates nothing of its own: against a server it is the same.
func TestAnswerOf1MiBIsCopiedNoMoreThanNeeded(t *testing.T) { // not parallel: it counts what the whole process allocates
	answer := &idem.Response{Status: 201, Body: make([]byte, mib)}
	fresh, finished := &pgstub.Stub{}, &pgstub.Stub{Body: answer.Body}
	for _, test := range []struct {
		name   string
		stub   *pgstub.Stub
		cache  int
		seen   bool // by the same Store before, else each call has a Store of its own
		copies int
		call   func(*largeCall) (*idem.Response, error)
	}{
		{"Hold", fresh, 0, false, 2, (*largeCall).hold},
		{"Do", fresh, 0, false, 2, (*largeCall).do},
		{"Claim and Complete", fresh, 0, false, 2, (*largeCall).complete},
		{"replay by Hold", finished, 0, false, 1, (*largeCall).hold},
		{"replay by Do", finished, 0, false, 1, (*largeCall).do},
		{"replay by Hold of a key seen lately", finished, 0, true, 1, (*largeCall).hold},
		{"replay by Do of a key seen lately", finished, 0, true, 1, (*largeCall).do},
		{"Hold, cached", fresh, 2 * mib, false, 3, (*largeCall).hold},
		{"Hold, too large for the cache", fresh, mib, false, 2, (*largeCall).hold},
		{"Do, too large for the cache", fresh, mib, false, 2, (*largeCall).do},
		{"replay too large for the cache", finished, mib, false, 1, (*largeCall).hold},
		{"replay from the cache", finished, 2 * mib, true, 1, (*largeCall).do},
	} {
		t.Run(test.name, func(t *testing.T) {
			pool := test.stub.Pool(t)
			store := func() *idem.Store { return &idem.Store{Pool: pool, CacheBytes: test.cache} }
			c := &largeCall{ctx: t.Context(), store: store(), answer: answer}
			got := allocated(20, func() {
				if !test.seen {
					c.store = store()
				}
				if resp, err := test.call(c); err != nil || len(resp.Body) != mib {
					t.Fatalf("%+v, %v", resp, err)
				}
			})
			c.store.Close()
			wantCopies(t, got, test.copies)
		})
	}
}

// largeCall makes calls for one key.
type largeCall struct {
	ctx    context.Context
	store  *idem.Store
	answer *idem.Response
}

func (*largeCall) key() idem.Key {
	return idem.Key{Tenant: "T1", Endpoint: "POST /reports", ID: "k", Fingerprint: idem.FingerprintOf([]byte("2026-01"))}
}

func (c *largeCall) hold() (*idem.Response, error) {
	return c.store.Hold(c.ctx, c.key(), answers(c.answer))
}

func (c *largeCall) do() (*idem.Response, error) {
	return c.store.Do(c.ctx, c.key(), func(context.Context, pgx.Tx) (*idem.Response, error) { return c.answer, nil })
}

func (c *largeCall) complete() (*idem.Response, error) {
	l, _, err := c.store.Claim(c.ctx, c.key())
	if err != nil {
		return nil, err
	}
	return c.answer, l.Complete(c.ctx, c.answer)
}

// One copy is made for all who wait in memory; each of several has one of its own besides, unless it only reads the body.
func TestWaitersForAnAnswerOf1MiBCopyItOnceEach(t *testing.T) { // not parallel: it counts what the whole process allocates
	for _, test := range []struct {
		waiters int
		read    bool // they write the answer out, as idemhttp does
		copies  int
	}{
		{0, false, 2}, {1, false, 3}, {4, false, 7}, {0, true, 2}, {1, true, 3}, {50, true, 3},
	} {
		t.Run(fmt.Sprintf("%d, only read %t", test.waiters, test.read), func(t *testing.T) {
			c := &largeCall{ctx: t.Context(), answer: &idem.Response{Status: 201, Body: make([]byte, mib)}}
			if test.read {
				c.ctx = borrow.Body(c.ctx, c.key().Tenant, c.key().Endpoint, c.key().ID)
			}
			c.store = &idem.Store{Pool: (&pgstub.Stub{}).Pool(t), Policy: idem.Policy{Wait: time.Minute}}
			defer c.store.Close()
			var all sync.WaitGroup
			got := allocated(10, func() {
				_, err := c.store.Hold(c.ctx, c.key(), func(context.Context, *idem.Lease) (*idem.Response, error) {
					for range test.waiters {
						all.Go(func() {
							if resp, err := c.hold(); err != nil || !resp.Replayed || len(resp.Body) != mib {
								t.Errorf("%+v, %v; want a replay", resp, err)
							}
						})
					}
					for idem.Queued(c.store, c.key()) < test.waiters {
						runtime.Gosched()
					}
					return c.answer, nil
				})
				if all.Wait(); err != nil {
					t.Fatal(err)
				}
			})
			wantCopies(t, got, test.copies)
		})
	}
}

func wantCopies(t *testing.T, got uint64, copies int) {
	t.Helper()
	t.Logf("%.2f MiB", float64(got)/mib)
	if got >= uint64(copies)*mib+mib*9/10 { // the race detector has pgx's pools forget some of their buffers
		t.Errorf("%.2f MiB were allocated a call, want %d copies", float64(got)/mib, copies)
	}
}

// allocated is how many bytes a run of f allocates on average, warmed up. Of three counts it is the least, for what others allocate
// meanwhile can only add.
func allocated(runs int, f func()) (least uint64) {
	for range 5 {
		f()
	}
	for range 3 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range runs {
			f()
		}
		runtime.ReadMemStats(&after)
		if got := (after.TotalAlloc - before.TotalAlloc) / uint64(runs); least == 0 || got < least {
			least = got
		}
	}
	return least
}
