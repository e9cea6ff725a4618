package idem_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/idem"
)

// trips counts the batches that a pool sends: a call that goes to the database sends at least one.
type trips struct{ n atomic.Int32 }

func (c *trips) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	c.n.Add(1)
	return ctx
}
func (*trips) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}
func (*trips) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData)     {}
func (*trips) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return ctx
}
func (*trips) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (c *trips) trace(p *pgxpool.Config) { p.ConnConfig.Tracer = c }

// Callers of one key in one process cost the database one call, and each gets a copy of its own.
func TestWaitersInOneProcessShareTheAnswerOnceItIsCommitted(t *testing.T) {
	b := setup(t)
	for name, call := range map[string]func(s *session, key idem.Key) step{
		"Do":   func(s *session, key idem.Key) step { return s.does(key, charge(key.ID)) },
		"Hold": func(s *session, key idem.Key) step { return s.holds(key, answers(created())) },
	} {
		t.Run(name, func(t *testing.T) {
			b := b.on(t)
			counted := new(trips)
			store, key := b.process(patient, counted.trace), b.key("k")
			leader := b.sharing("leader", store)
			steps := []step{call(leader, key), leader.works()}
			waiters := make([]*session, 20)
			for i := range waiters {
				waiters[i] = b.sharing(fmt.Sprint("waiter ", i), store)
				steps = append(steps, call(waiters[i], key))
			}
			b.inOrder(append(steps, b.queued(store, key, len(waiters)), leader.goesOn(), leader.gets("its own answer", created()))...)
			seen := map[*byte]bool{&leader.resp.Body[0]: true}
			for _, w := range waiters {
				b.inOrder(w.gets("a replay", replayOf(created())))
				if seen[&w.resp.Body[0]] {
					t.Error("two callers share one body")
				}
				seen[&w.resp.Body[0]] = true
				w.resp.Body[0], w.resp.Header["Location"][0] = 'X', "X"
				w.resp.Header["X-Mine"] = []string{"X"}
			}
			if n := counted.n.Load(); n > 2 {
				t.Errorf("%d round trips for all callers, want 2: claim and completion", n)
			}
			later := b.sharing("later", store)
			b.inOrder(call(later, key), later.gets("the untouched answer", replayOf(created())))
		})
	}
}

// Whatever the leader's end is if not an answer, one waiter goes to the database and the others wait on.
func TestLeaderWithoutAnAnswerWakesExactlyOneWaiter(t *testing.T) {
	b := setup(t)
	const n = 5
	policy := patient
	policy.Stale = idem.StaleRerun // in lease mode a panic abandons
	for name, end := range map[string]func(*session) error{
		"an error":                 func(*session) error { return errWork },
		"a panic":                  func(*session) error { panic(errWork) },
		"Goexit":                   func(*session) error { runtime.Goexit(); return nil },
		"cancelled while it works": func(s *session) error { s.cancel(errWork); return errWork },
	} {
		for mode, call := range map[string]func(s *session, key idem.Key, end func(*session) error) step{
			"Do": func(s *session, key idem.Key, end func(*session) error) step {
				return s.does(key, func(context.Context, pgx.Tx) (*idem.Response, error) { return created(), end(s) })
			},
			"Hold": func(s *session, key idem.Key, end func(*session) error) step {
				return s.holds(key, func(context.Context, *idem.Lease) (*idem.Response, error) {
					return created(), idem.Transient(end(s))
				})
			},
		} {
			if !t.Run(mode+"/"+name, func(t *testing.T) {
				b := b.on(t)
				store, key := b.newStore(policy), b.key("k")
				leader := b.sharing("leader", store)
				steps := []step{call(leader, key, end), leader.works()}
				waiters := make([]*session, n)
				for i := range waiters {
					waiters[i] = b.sharing(fmt.Sprint("waiter ", i), store)
					steps = append(steps, call(waiters[i], key, func(*session) error { return nil }), b.queued(store, key, i+1))
				}
				b.inOrder(append(steps,
					leader.goesOn(), do("leader ends", leader.wait),
					waiters[0].works(), // first come, first served
					b.queued(store, key, n-1),
				)...)
				for _, w := range waiters[1:] {
					if len(w.working) > 0 {
						t.Errorf("%s works beside the one that was woken", w.name)
					}
				}
				b.inOrder(waiters[0].goesOn(), waiters[0].gets("a first answer", created()))
				for _, w := range waiters[1:] {
					b.inOrder(w.gets("a replay", replayOf(created())))
				}
			}) {
				return // whoever is not woken hangs in each of them
			}
		}
	}
}

// A leader whose request is not the key's has no answer to share: the next one goes to the database and has.
func TestLeaderWithAMismatchWakesExactlyOneWaiter(t *testing.T) {
	b := setup(t)
	counted := new(trips)
	store, key := b.process(patient, counted.trace), b.key("k")
	wrong := key
	wrong.Fingerprint = idem.FingerprintOf([]byte("$9000.00"))
	rival := b.session("rival in another process")
	leader := b.sharing("leader", store)
	waiters := []*session{b.sharing("waiter 0", store), b.sharing("waiter 1", store), b.sharing("waiter 2", store)}
	steps := []step{rival.does(key, charge("k")), rival.works(), leader.does(wrong, mustNotRun(t)), b.blocked(1)}
	for i, w := range waiters {
		steps = append(steps, w.does(key, mustNotRun(t)), b.queued(store, key, i+1))
	}
	b.inOrder(append(steps,
		rival.goesOn(), rival.gets("its own answer", created()),
		leader.fails(idem.ErrMismatch),
	)...)
	for _, w := range waiters {
		b.inOrder(w.gets("a replay", replayOf(created())))
	}
	if n := counted.n.Load(); n != 2 {
		t.Errorf("%d round trips, want 2: the leader's and one waiter's", n)
	}
}

// An answer is shared only with the same request.
func TestWaiterWithAnotherRequestNeverGetsTheLeadersAnswer(t *testing.T) {
	b := setup(t)
	t.Run("Do: it waits and is told of the mismatch by the database", func(t *testing.T) {
		b := b.on(t)
		store, key := b.newStore(patient), b.key("k")
		other := key
		other.Fingerprint = idem.FingerprintOf([]byte("$9000.00"))
		anyone := key
		anyone.Fingerprint = idem.AnyRequest
		leader, waiter, careless := b.sharing("leader", store), b.sharing("waiter", store), b.sharing("careless", store)
		b.inOrder(
			leader.does(key, charge("k")), leader.works(),
			waiter.does(other, mustNotRun(t)), b.queued(store, key, 1),
			careless.does(anyone, mustNotRun(t)), b.queued(store, key, 2),
			leader.goesOn(), leader.gets("its own answer", created()),
			waiter.fails(idem.ErrMismatch),
			careless.gets("a replay", replayOf(created())),
		)
	})
	t.Run("Hold: it is told at once", func(t *testing.T) {
		b := b.on(t)
		store, key := b.newStore(patient), b.key("k")
		other := key
		other.Fingerprint = idem.FingerprintOf([]byte("$9000.00"))
		leader, waiter := b.sharing("leader", store), b.sharing("waiter", store)
		b.inOrder(
			leader.holds(key, answers(created())), leader.works(),
			waiter.holds(other, holdMustNotRun(t)),
			waiter.fails(idem.ErrMismatch), // while the leader works
			leader.goesOn(), leader.gets("its own answer", created()),
		)
	})
}

// An answer that was given back unrecorded is its caller's alone.
func TestAnswerOfAReleasedKeyIsNotShared(t *testing.T) {
	b := setup(t)
	store, key := b.newStore(patient), b.key("k")
	leader, waiter := b.sharing("leader", store), b.sharing("waiter", store)
	b.inOrder(
		leader.holds(key, func(ctx context.Context, l *idem.Lease) (*idem.Response, error) {
			return &idem.Response{Status: 429}, l.Release(ctx)
		}),
		leader.works(),
		waiter.holds(key, answers(created())), b.queued(store, key, 1),
		leader.goesOn(), leader.gets("its own answer", &idem.Response{Status: 429}),
		waiter.works(), waiter.goesOn(),
		waiter.gets("a first answer", created()),
	)
}

// A call for a key that its own caller holds would wait for itself: it is told at once.
func TestNestedCallForAHeldKeyIsInFlightAtOnce(t *testing.T) {
	b := setup(t)
	store := b.newStore(patient)
	with := store.With(patient)
	doTx := func(ctx context.Context, s *idem.Store, key idem.Key) error {
		return pgx.BeginFunc(ctx, b.pool, func(tx pgx.Tx) error {
			_, err := s.DoTx(ctx, tx, key, mustNotRun(t))
			return err
		})
	}
	inner := map[string]func(context.Context, *idem.Store, idem.Key) error{
		"Do": func(ctx context.Context, s *idem.Store, key idem.Key) error {
			_, err := s.Do(ctx, key, mustNotRun(t))
			return err
		},
		"DoTx": doTx,
		"Hold": func(ctx context.Context, s *idem.Store, key idem.Key) error {
			_, err := s.Hold(ctx, key, holdMustNotRun(t))
			return err
		},
		"Claim": func(ctx context.Context, s *idem.Store, key idem.Key) error {
			_, _, err := s.Claim(ctx, key)
			return err
		},
	}
	outer := map[string]func(ctx context.Context, key idem.Key, f func(context.Context) error) error{
		"Do": func(ctx context.Context, key idem.Key, f func(context.Context) error) error {
			_, err := store.Do(ctx, key, func(ctx context.Context, _ pgx.Tx) (*idem.Response, error) { return created(), f(ctx) })
			return err
		},
		"DoTx": func(ctx context.Context, key idem.Key, f func(context.Context) error) error {
			_, err := store.DoTx(ctx, b.begin(), key, func(ctx context.Context, _ pgx.Tx) (*idem.Response, error) { return created(), f(ctx) })
			return err
		},
		"Hold": func(ctx context.Context, key idem.Key, f func(context.Context) error) error {
			_, err := store.Hold(ctx, key, func(ctx context.Context, _ *idem.Lease) (*idem.Response, error) { return created(), f(ctx) })
			return err
		},
	}
	for outerName, hold := range outer {
		for innerName, nested := range inner {
			if !t.Run(innerName+" in "+outerName, func(t *testing.T) {
				b := b.on(t)
				key := b.key("k")
				atOnce := func(ctx context.Context, s *idem.Store) {
					began := time.Now()
					if err := nested(ctx, s, key); !errors.Is(err, idem.ErrInFlight) {
						t.Errorf("got %v, want ErrInFlight", err)
					}
					if took := time.Since(began); took > patient.Wait/2 {
						t.Errorf("it waited %v for itself", took)
					}
				}
				err := hold(b.ctx, key, func(ctx context.Context) error {
					atOnce(ctx, store)
					atOnce(ctx, with)
					atOnce(context.WithValue(context.WithoutCancel(ctx), foreignValue{}, 1), store)
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			}) {
				return // each of them would wait for itself
			}
		}
	}
	t.Run("another key may be nested", func(t *testing.T) {
		b := b.on(t)
		resp, err := store.Do(b.ctx, b.key("outer"), func(ctx context.Context, tx pgx.Tx) (*idem.Response, error) {
			resp, err := store.DoTx(ctx, tx, b.key("inner"), charge("inner"))
			if err != nil {
				return nil, err
			}
			if _, err := store.DoTx(ctx, tx, b.key("inner"), mustNotRun(t)); err != nil {
				return nil, err
			}
			return resp, nil
		})
		if err != nil || resp.Status != 201 || b.charges("inner") != 1 {
			t.Errorf("got %+v, %v and %d charges", resp, err, b.charges("inner"))
		}
	})
	t.Run("what an outer error rolls back, the nested key included", func(t *testing.T) {
		b := b.on(t)
		_, err := store.Do(b.ctx, b.key("outer"), func(ctx context.Context, tx pgx.Tx) (*idem.Response, error) {
			if _, err := store.DoTx(ctx, tx, b.key("inner"), charge("rolled back")); err != nil {
				t.Error(err)
			}
			return nil, errWork
		})
		wantIs(t, err, errWork)
		if b.row(b.key("inner")) != "" || b.charges("rolled back") != 0 {
			t.Error("the nested key or its rows are left")
		}
	})
}

// A waiter gives up by itself, and the queue goes on without it.
func TestWaiterThatGivesUpLeavesTheQueue(t *testing.T) {
	b := setup(t)
	store, key := b.newStore(patient), b.key("k")
	leader, waiter, next := b.sharing("leader", store), b.sharing("waiter", store), b.sharing("next", store)
	b.inOrder(
		leader.does(key, func(context.Context, pgx.Tx) (*idem.Response, error) { return nil, errWork }), leader.works(),
		waiter.does(key, mustNotRun(t)), b.queued(store, key, 1),
		next.does(key, charge("k")), b.queued(store, key, 2),
		do("the waiter's client hangs up", func() { waiter.cancel(errors.New("the client hung up")) }),
		b.queued(store, key, 1),
		do("the waiter is told why", func() {
			if waiter.wait(); waiter.err == nil || waiter.resp != nil {
				t.Fatalf("got %+v, %v; want an error", waiter.resp, waiter.err)
			}
		}),
		leader.goesOn(), leader.fails(errWork),
		next.works(), next.goesOn(), next.gets("a first answer", created()),
	)
}

// Wait below 0 never waits, in memory or in the database; Wait is one budget for both.
func TestWaitBelowZeroNeverWaits(t *testing.T) {
	b := setup(t)
	never := idem.Policy{Retention: time.Hour, Wait: -1}
	key := b.key("k")
	leader := b.session("leader")
	b.inOrder(leader.does(key, charge("k")), leader.works())
	for name, store := range map[string]*idem.Store{"in the same process": leader.store.With(never), "in another": b.newStore(never)} {
		began := time.Now()
		_, err := store.Do(b.ctx, key, mustNotRun(t))
		wantIs(t, err, idem.ErrInFlight)
		if after, _ := idem.RetryAfter(err); after != time.Second {
			t.Errorf("%s: RetryAfter %v, want 1s", name, after)
		}
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("%s: it waited %v", name, took)
		}
	}
	b.inOrder(leader.goesOn(), leader.gets("its own answer", created()))
	if again, err := b.newStore(never).Do(b.ctx, key, mustNotRun(t)); err != nil || !again.Replayed {
		t.Errorf("got %+v, %v; want a replay", again, err)
	}
}

// A duplicate gets its conflict when Wait has run out, by the database's own clock and not when the holder is done.
func TestWaitThatRunsOutIsInFlight(t *testing.T) {
	b := setup(t)
	hasty := idem.Policy{Retention: time.Hour, Wait: 100 * time.Millisecond}
	for name, holds := range map[string]func(*session, idem.Key) step{
		"behind Do":   func(s *session, key idem.Key) step { return s.does(key, charge(key.ID)) },
		"behind Hold": func(s *session, key idem.Key) step { return s.holds(key, answers(created())) },
	} {
		t.Run(name, func(t *testing.T) {
			b := b.on(t)
			key := b.key("k")
			leader := b.session("leader")
			b.inOrder(holds(leader, key), leader.works())
			for where, store := range map[string]*idem.Store{"in the same process": leader.store.With(hasty), "in another": b.newStore(hasty)} {
				for mode, call := range map[string]func() error{
					"Do":   func() error { _, err := store.Do(b.ctx, key, mustNotRun(t)); return err },
					"Hold": func() error { _, err := store.Hold(b.ctx, key, holdMustNotRun(t)); return err },
				} {
					began := time.Now()
					err := call()
					if !errors.Is(err, idem.ErrInFlight) || errors.Is(err, idem.ErrUnavailable) {
						t.Errorf("%s %s: got %v, want ErrInFlight", mode, where, err)
					}
					// a committed lease is no claim that Do waits for: an endpoint has one mode
					waits := !(name == "behind Hold" && mode == "Do" && where == "in another")
					if took := time.Since(began); waits && took < hasty.Wait || took > 3*time.Second {
						t.Errorf("%s %s: it waited %v, want %v", mode, where, took, hasty.Wait)
					}
				}
			}
			b.inOrder(leader.goesOn(), leader.gets("its own answer", created()))
		})
	}
}

// 200 callers of one key on a pool of 4 leave the pool usable by others.
func TestRetryStormLeavesThePoolUsable(t *testing.T) {
	b := setup(t)
	store, key := b.process(patient, func(c *pgxpool.Config) { c.MaxConns = 4 }), b.key("k")
	leader := b.sharing("leader", store)
	b.inOrder(leader.does(key, charge("k")), leader.works())
	var answers sum
	done := make(chan struct{})
	go func() {
		defer close(done)
		storm(200, func(int) { answers.add(store.Do(b.ctx, key, mustNotRun(t))) })
	}()
	b.inOrder(
		b.queued(store, key, 200),
		do("others use the pool", func() {
			storm(3, func(i int) {
				if _, err := store.Do(b.ctx, b.key(fmt.Sprint("other ", i)), charge("other")); err != nil {
					t.Error(err)
				}
			})
		}),
		leader.goesOn(),
		do("the storm ends", func() { b.receive(done, "the storm never ended") }),
	)
	if answers.counts["replayed"] != 200 {
		t.Errorf("got %v, want 200 replays", answers.counts)
	}
}

// foreignValue is a context key of somebody else's.
type foreignValue struct{}
