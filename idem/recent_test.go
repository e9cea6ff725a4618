package idem_test

import (
	"bytes"
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/idem/internal/borrow"
)

// asked keeps what was sent, a statement's first words each.
type asked struct{ n atomic.Int64 }

func (a *asked) TraceQueryStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceQueryStartData) context.Context {
	if strings.Contains(d.SQL, "idem.keys") {
		a.n.Add(1)
	}
	return ctx
}

func (*asked) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (a *asked) TraceBatchStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceBatchStartData) context.Context {
	for _, q := range d.Batch.QueuedQueries {
		if strings.Contains(q.SQL, "idem.keys") {
			a.n.Add(1)
		}
	}
	return ctx
}

func (*asked) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}
func (*asked) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData)     {}

// statements counts those that f sends over idem.keys.
func (a *asked) statements(f func()) int64 {
	before := a.n.Load()
	f()
	return a.n.Load() - before
}

func remembering(t *testing.T, cache int) (*bundle, *asked) {
	a := new(asked)
	b := setup(t, func(c *pgxpool.Config) { c.ConnConfig.Tracer = a })
	b.store = &idem.Store{Pool: b.pool, Policy: idem.Policy{Retention: time.Hour}, CacheBytes: cache}
	t.Cleanup(b.store.Close)
	return b, a
}

func (b *bundle) replays(s *idem.Store, key idem.Key) {
	b.t.Helper()
	resp, err := s.Do(b.ctx, key, mustNotRun(b.t))
	if err != nil || !resp.Replayed || !bytes.Equal(resp.Body, created().Body) || resp.Header["Location"][0] != "/charges/1" {
		b.t.Errorf("%+v, %v; want the first answer again", resp, err)
	}
}

func TestKeySeenLatelyIsReadByOneStatement(t *testing.T) {
	b, a := remembering(t, 0)
	for name, finish := range map[string]func(key idem.Key) error{
		"by Do": func(key idem.Key) error {
			_, err := b.store.Do(b.ctx, key, charge(key.ID))
			return err
		},
		"by Hold": func(key idem.Key) error {
			_, err := b.store.Hold(b.ctx, key, answers(created()))
			return err
		},
		"by Complete": func(key idem.Key) error {
			l, _, err := b.store.Claim(b.ctx, key)
			if err != nil {
				return err
			}
			return l.Complete(b.ctx, created())
		},
		"by a replay": func(key idem.Key) error {
			if _, err := b.newStore(idem.Policy{}).Do(b.ctx, key, charge(key.ID)); err != nil {
				return err
			}
			_, err := b.store.Do(b.ctx, key, mustNotRun(t))
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			b, key := b.on(t), b.key(name)
			wantIs(t, finish(key), nil)
			if n := a.statements(func() { b.replays(b.store, key) }); n != 1 {
				t.Errorf("%d statements over the keys, want the load alone", n)
			}
			other := key
			other.Fingerprint = idem.FingerprintOf([]byte("$9,000.00"))
			n := a.statements(func() {
				_, err := b.store.Do(b.ctx, other, mustNotRun(t))
				wantIs(t, err, idem.ErrMismatch)
			})
			if n != 1 {
				t.Errorf("%d statements for a mismatch, want the load alone", n)
			}
		})
	}
}

func TestKeySeenLatelyThatIsNoLongerFinishedRunsAgain(t *testing.T) {
	for name, undo := range map[string]func(b *bundle, key idem.Key){
		"expired": func(b *bundle, key idem.Key) { b.age(key, 2*time.Hour) },
		"forgotten by an operator": func(b *bundle, key idem.Key) {
			b.exec("DELETE FROM idem.keys WHERE tenant_id = $1 AND key = $2", key.Tenant, key.ID)
		},
	} {
		t.Run(name, func(t *testing.T) {
			b, _ := remembering(t, 0)
			key := b.key("k")
			if _, err := b.store.Do(b.ctx, key, charge("k")); err != nil {
				t.Fatal(err)
			}
			undo(b, key)
			resp, err := b.store.Do(b.ctx, key, charge("k"))
			if err != nil || resp.Replayed || b.charges("k") != 2 {
				t.Errorf("%+v, %v, %d charges; want a second life", resp, err, b.charges("k"))
			}
		})
	}
}

func TestDoTxThatRolledBackIsNotRemembered(t *testing.T) {
	b, _ := remembering(t, 1<<20)
	key := b.key("k")
	tx, err := b.pool.Begin(b.ctx)
	wantIs(t, err, nil)
	_, err = b.store.DoTx(b.ctx, tx, key, charge("k"))
	wantIs(t, err, nil)
	wantIs(t, tx.Rollback(b.ctx), nil)
	resp, err := b.store.Do(b.ctx, key, charge("k"))
	if err != nil || resp.Replayed || b.charges("k") != 1 {
		t.Errorf("%+v, %v, %d charges; want the one charge now", resp, err, b.charges("k"))
	}
}

func TestCachedAnswerNeedsNoDatabase(t *testing.T) {
	b, a := remembering(t, 1<<20)
	key := b.key("k")
	if _, err := b.store.Do(b.ctx, key, charge("k")); err != nil {
		t.Fatal(err)
	}
	n := a.statements(func() {
		b.replays(b.store, key)
		b.replays(b.store.With(idem.Policy{}), key)
		any := key
		any.Fingerprint = idem.AnyRequest
		b.replays(b.store, any)
		resp, err := b.store.Hold(b.ctx, key, holdMustNotRun(t))
		if err != nil || !resp.Replayed {
			t.Errorf("%+v, %v", resp, err)
		}
		resp.Body[0] = 'X' // a caller's copy is its own
		b.replays(b.store, key)
	})
	if n != 0 {
		t.Errorf("%d statements over the keys, want none", n)
	}
	if err := b.pool.AcquireFunc(b.ctx, func(*pgxpool.Conn) error { return nil }); err != nil {
		t.Error(err)
	}
}

// A caller that only reads the body shares it with the cache; one that does not has its own all the same.
func TestCachedBodyIsSharedWithThoseWhoOnlyReadIt(t *testing.T) {
	b, _ := remembering(t, 1<<20)
	key := b.key("k")
	if _, err := b.newStore(idem.Policy{}).Do(b.ctx, key, charge("k")); err != nil {
		t.Fatal(err)
	}
	body := func(ctx context.Context) *byte {
		resp, err := b.store.Do(ctx, key, mustNotRun(t))
		if err != nil || !bytes.Equal(resp.Body, created().Body) {
			t.Fatalf("%+v, %v; want the first answer again", resp, err)
		}
		return &resp.Body[0]
	}
	reading := borrow.Body(b.ctx, key.Tenant, key.Endpoint, key.ID)
	found := body(reading)
	if cached := body(reading); cached != found {
		t.Error("what was read from the database was copied into the cache")
	}
	for name, ctx := range map[string]context.Context{
		"unmarked": b.ctx, "marked for another key": borrow.Body(b.ctx, key.Tenant, key.Endpoint, "other"),
	} {
		if own := body(ctx); own == found {
			t.Errorf("%s: the caller was given the cache's own body", name)
		}
	}
}

func TestCachedAnswerIsNotForAnotherRequest(t *testing.T) {
	b, _ := remembering(t, 1<<20)
	key := b.key("k")
	if _, err := b.store.Do(b.ctx, key, charge("k")); err != nil {
		t.Fatal(err)
	}
	other := key
	other.Fingerprint = idem.FingerprintOf([]byte("$9,000.00"))
	_, err := b.store.Do(b.ctx, other, mustNotRun(t))
	wantIs(t, err, idem.ErrMismatch)
	stranger := key
	stranger.Tenant += " 2"
	resp, err := b.store.Do(b.ctx, stranger, charge("k"))
	if err != nil || resp.Replayed {
		t.Errorf("%+v, %v; want another tenant's own run", resp, err)
	}
}

func TestCacheKeepsNoAnswerLongerThanItsRetention(t *testing.T) {
	b, _ := remembering(t, 1<<20)
	key := b.key("k")
	if _, err := b.newStore(idem.Policy{Retention: time.Hour}).Do(b.ctx, key, charge("k")); err != nil {
		t.Fatal(err)
	}
	b.exec("UPDATE idem.keys SET expires_at = statement_timestamp() + '400 ms' WHERE tenant_id = $1", key.Tenant)
	b.replays(b.store, key) // and is cached for what is left
	b.eventually(func() bool {
		return b.count("SELECT count(*) FROM idem.keys WHERE tenant_id = $1 AND expires_at <= statement_timestamp()", key.Tenant) == 1
	}, "the key never expired")
	resp, err := b.store.Do(b.ctx, key, charge("k"))
	if err != nil || resp.Replayed {
		t.Errorf("%+v, %v; want a second life", resp, err)
	}
}
