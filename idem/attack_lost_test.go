package idem_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/internal/pgproxy"
)

// Each COMMIT of a call that resolves a key is lost in turn, before and after the server saw it: the claim to ask, the reading,
// the verdict, the completion. It is asked once, the work runs once, and the answer is the one that stands.
func TestResolvingSurvivesEveryLostCommit(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, v := range []idem.Verdict{idem.Found, idem.Nothing} {
		for _, fault := range []pgproxy.Fault{pgproxy.CutBefore, pgproxy.DropAnswer} {
			for lost := range int64(6) {
				t.Run(fmt.Sprintf("verdict %d, fault %d, commit %d", v, fault, lost), func(t *testing.T) {
					b := b.on(t)
					b.abandonedBy(b.newStore(resolving(verdict(v, nil, nil))), "k")
					var commits, asked, runs atomic.Int64
					proxy := &pgproxy.Proxy{OnCommit: func() pgproxy.Fault {
						if commits.Add(1) == lost+1 {
							return fault
						}
						return pgproxy.Pass
					}}
					store := b.throughProxy(proxy, resolving(func(context.Context, *idem.Record) (idem.Verdict, *idem.Response, error) {
						asked.Add(1)
						return v, &idem.Response{Status: 201, Body: []byte("found")}, nil
					}))
					work := func(context.Context, *idem.Lease) (*idem.Response, error) {
						runs.Add(1)
						return &idem.Response{Status: 201, Body: []byte("ran")}, nil
					}
					resp, err := store.Hold(b.ctx, b.key("k"), work)
					if err != nil { // the claim's own, of which nothing is known but that nothing ran
						wantIs(t, err, idem.ErrUnavailable)
						b.age(b.key("k"), 10*time.Minute)
						if resp, err = store.Hold(b.ctx, b.key("k"), work); err != nil {
							t.Fatal(err)
						}
					}
					want := map[idem.Verdict]string{idem.Found: "found", idem.Nothing: "ran"}[v]
					if resp.Replayed || string(resp.Body) != want || asked.Load() != 1 || runs.Load() != map[idem.Verdict]int64{idem.Nothing: 1}[v] {
						t.Errorf("%+v, asked %d times, ran %d times", resp, asked.Load(), runs.Load())
					}
					again, err := store.Hold(b.ctx, b.key("k"), holdMustNotRun(t))
					if err != nil || !again.Replayed || string(again.Body) != want {
						t.Errorf("%+v, %v; want a replay", again, err)
					}
				})
			}
		}
	}
}

// Every COMMIT of work in two steps is lost in turn; each effect happens once, and a second run replays what the first recorded.
func TestStepsSurviveEveryLostCommit(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, fault := range []pgproxy.Fault{pgproxy.CutBefore, pgproxy.DropAnswer} {
		for lost := range int64(5) {
			t.Run(fmt.Sprintf("fault %d, commit %d", fault, lost), func(t *testing.T) {
				b := b.on(t)
				b.exec("TRUNCATE charges")
				var commits atomic.Int64
				proxy := &pgproxy.Proxy{OnCommit: func() pgproxy.Fault {
					if commits.Add(1) == lost+1 {
						return fault
					}
					return pgproxy.Pass
				}}
				store := b.throughProxy(proxy, rerun)
				var d downstream
				work := func(ctx context.Context, l *idem.Lease) (*idem.Response, error) {
					out, err := l.Step(ctx, "charge", d.charge)
					if err != nil {
						return nil, err
					}
					if _, err := l.StepTx(ctx, "note", insert); err != nil {
						return nil, err
					}
					return &idem.Response{Status: 201, Body: out}, nil
				}
				resp, err := store.Hold(b.ctx, b.key("k"), work)
				if fault == pgproxy.CutBefore && (lost == 0 || lost == 3) { // the claim's and StepTx's, which are not sent again
					if err == nil {
						t.Error("no COMMIT was lost")
					}
					resp, err = store.Hold(b.ctx, b.key("k"), work)
				}
				if err != nil || string(resp.Body) != "ch_1" || d.total() != 1 || b.charges("k") != 1 {
					t.Errorf("%+v, %v, %d effects, %d rows", resp, err, d.total(), b.charges("k"))
				}
			})
		}
	}
}

// C35, for steps: names and outputs that are no plain text, in every query mode.
func TestEveryQueryModeCarriesSteps(t *testing.T) {
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe,
		pgx.QueryExecModeDescribeExec, pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol} {
		t.Run(mode.String(), func(t *testing.T) {
			b := setup(t, func(c *pgxpool.Config) { c.ConnConfig.DefaultQueryExecMode = mode })
			policy := named(idem.StaleRerun)
			policy.Handler = `a'b\c{},"`
			store := b.newStore(policy)
			const name, binary = `it's \ $1 "é"`, "\x00\xff'\\x41\n"
			work := func(end error) idem.Work {
				return func(ctx context.Context, l *idem.Lease) (*idem.Response, error) {
					a, err := l.Step(ctx, name, func(context.Context, string) ([]byte, error) { return []byte(binary), end })
					if err != nil {
						return nil, err
					}
					n, err := l.StepTx(ctx, name+"2", func(ctx context.Context, tx pgx.Tx) ([]byte, error) {
						_, err := insert(ctx, tx)
						return []byte(binary), err
					})
					if err != nil {
						return nil, err
					}
					_, err = l.Step(ctx, "nil", func(context.Context, string) ([]byte, error) { return nil, nil })
					return &idem.Response{Body: append(a, n...)}, err
				}
			}
			_, err := store.Hold(b.ctx, b.key("k"), work(errCrash)) // begun
			wantIs(t, err, errCrash)
			_, err = store.Hold(b.ctx, b.key("undone"), work(idem.Transient(errCrash)))
			wantIs(t, err, errCrash)
			b.age(b.key("k"), 10*time.Minute)
			stats, err := (&idem.Completer{Store: store, Handlers: map[string]idem.Work{policy.Handler: work(nil)}}).Complete(b.ctx)
			if err != nil || stats.Completed != 1 {
				t.Fatalf("%+v, %v", stats, err)
			}
			resp, err := store.Hold(b.ctx, b.key("k"), holdMustNotRun(t))
			if err != nil || string(resp.Body) != binary+binary || b.charges("k") != 1 {
				t.Errorf("%+v, %v, %d rows", resp, err, b.charges("k"))
			}
			for v, ask := range map[idem.Verdict]idem.Resolver{
				idem.Found:   verdict(idem.Found, &idem.Response{Body: []byte(binary), ProviderRef: `ch_'1`}, nil),
				idem.Nothing: verdict(idem.Nothing, nil, nil),
				idem.Pending: verdict(idem.Pending, nil, nil),
			} {
				resolver, id := b.newStore(resolving(ask)), fmt.Sprint(v)
				b.abandonedBy(resolver, id)
				_, err := resolver.Hold(b.ctx, b.key(id), func(context.Context, *idem.Lease) (*idem.Response, error) { return created(), nil })
				if (v == idem.Pending) == (err == nil) {
					t.Errorf("verdict %d: %v", v, err)
				}
			}
		})
	}
}
