package idem_test

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/idem"
)

func TestClaimWaitsForTheWinnerAndReplays(t *testing.T) {
	b := setup(t)
	winner, loser := b.session("winner"), b.session("loser")
	b.inOrder(
		winner.does(b.key("k"), charge("k")), winner.works(),
		loser.does(b.key("k"), mustNotRun(t)), b.blocked(1),
		winner.goesOn(),
		winner.gets("its own answer", created()),
		loser.gets("a replay", replayOf(created())),
	)
}

func TestWinnerThatRollsBackLetsExactlyOneOfFiveRun(t *testing.T) {
	b := setup(t)
	key := b.key("k")
	winner := b.session("winner")
	waiters := make([]*session, 5)
	for i := range waiters {
		waiters[i] = b.session("waiter " + strconv.Itoa(i))
	}
	steps := []step{
		winner.does(key, func(context.Context, pgx.Tx) (*idem.Response, error) {
			return nil, errors.New("declined by the winner")
		}),
		winner.works(),
	}
	for i, w := range waiters {
		steps = append(steps, w.does(key, charge("k")), b.blocked(i+1))
	}
	var next *session
	b.inOrder(append(steps,
		winner.goesOn(),
		do("one waiter runs", func() {
			b.eventually(func() bool {
				for _, w := range waiters {
					if len(w.working) == 1 {
						next = w
					}
				}
				return next != nil
			}, "no waiter ran after the winner rolled back")
		}),
		b.blocked(4),
		do("no other runs beside it", func() {
			for _, w := range waiters {
				if w != next && len(w.working) == 1 {
					t.Fatalf("%s runs beside %s", w.name, next.name)
				}
				close(w.goOn)
			}
		}),
	)...)
	for _, w := range waiters {
		want := replayOf(created())
		if w == next {
			want = created()
		}
		b.inOrder(w.gets("the answer of the one that ran", want))
	}
	if n := b.charges("k"); n != 1 {
		t.Errorf("%d charges, want 1", n)
	}
	if winner.wait(); winner.err == nil || winner.err.Error() != "declined by the winner" {
		t.Errorf("the winner got %v, want its work's own error", winner.err)
	}
}

// C26: the loser's INSERT finds a row that the read in the same statement would not see. Two statements, two snapshots.
func TestC26LoserSeesTheRowThatBlockedIt(t *testing.T) {
	b := setup(t)
	for name, call := range map[string]call{
		"Do": func(ctx context.Context, s *session) (*idem.Response, error) {
			return s.store.Do(ctx, b.key("Do"), mustNotRun(t))
		},
		"DoTx": func(ctx context.Context, s *session) (resp *idem.Response, err error) {
			err = pgx.BeginFunc(ctx, s.store.Pool, func(tx pgx.Tx) error {
				resp, err = s.store.DoTx(ctx, tx, b.key("DoTx"), mustNotRun(t))
				return err
			})
			return resp, err
		},
		"Hold": func(ctx context.Context, s *session) (*idem.Response, error) {
			return s.store.Hold(ctx, b.key("Hold"), holdMustNotRun(t))
		},
	} {
		counted := new(trips)
		winner, loser := b.session("winner"), b.sharing("loser", b.process(patient, counted.trace))
		b.inOrder(
			winner.does(b.key(name), charge(name)), winner.works(),
			loser.starts(name, call), b.blocked(1),
			winner.goesOn(),
			loser.gets("a replay", replayOf(created())),
		)
		if n := counted.n.Load(); n != 1 {
			t.Errorf("%s looked %d times, want once: its read is newer than its INSERT", name, n)
		}
	}
}

// The row that the loser ran into is gone when it reads (article 000): the claim starts again, three times in all.
func TestRowThatVanishesBetweenClaimAndRead(t *testing.T) {
	for name, claim := range map[string]func(*session, idem.Key) step{
		"Do":   func(s *session, key idem.Key) step { return s.does(key, charge("k")) },
		"Hold": func(s *session, key idem.Key) step { return s.holds(key, answers(created())) },
	} {
		for _, times := range []int{1, 2, 3} {
			t.Run(name+", "+strconv.Itoa(times)+" times", func(t *testing.T) {
				b := setup(t)
				key := b.key("k")
				g := b.gates(1, 2, 3, 4, 5, 6)
				loser := g.gated("loser")
				steps := []step{claim(loser, key)}
				for look := 1; look <= times; look++ {
					steps = append(steps,
						g.reached(2*look-1),
						do("a rival finishes", func() { b.insertFinished(key, "the rival's") }),
						g.opens(2*look-1),
						g.reached(2*look),
						do("its row is deleted", func() { b.delete(key) }),
						g.opens(2*look),
					)
				}
				if times == 3 {
					b.inOrder(append(steps, loser.fails(idem.ErrContended))...)
					if _, helps := idem.RetryAfter(loser.err); !helps {
						t.Error("coming back helps, and the error has no RetryAfter")
					}
					if row := b.row(key); row != "" {
						t.Errorf("a key is left: %s", row)
					}
					return
				}
				b.inOrder(append(steps,
					g.reached(2*times+1), g.opens(2*times+1),
					g.reached(2*times+2), g.opens(2*times+2),
					loser.works(), loser.goesOn(),
					loser.gets("a first answer", created()),
				)...)
			})
		}
	}
}

func answers(r *idem.Response) idem.Work {
	return func(context.Context, *idem.Lease) (*idem.Response, error) { return r, nil }
}

// C27, first half: the sweep deletes the row between the loser's INSERT and its read.
func TestC27SweepBetweenClaimAndReadIsLookedAtAgain(t *testing.T) {
	b := setup(t)
	key := b.key("k")
	b.insertFinished(key, "the old answer")
	b.age(key, 2*time.Hour)
	g := b.gates(1, 2)
	loser := g.gated("loser")
	b.inOrder(
		loser.does(key, charge("k")),
		g.reached(1), g.opens(1),
		g.reached(2),
		do("the sweep deletes the expired row", func() {
			stats, err := (&idem.Sweeper{Pool: b.pool}).Sweep(b.ctx)
			if err != nil || b.row(key) != "" {
				t.Fatalf("the sweep left %q: %+v, %v", b.row(key), stats, err)
			}
		}),
		g.opens(2),
		loser.works(), loser.goesOn(),
		loser.gets("a first answer", created()),
	)
}

// A rival takes the expired row between the loser's read and its update, with the same request and with another.
func TestC27ExpiredRowReclaimedByTwoAtOnce(t *testing.T) {
	for name, test := range map[string]struct {
		fingerprint idem.Fingerprint
		loserWants  error // nil: a replay
	}{
		"the same request": {idem.FingerprintOf([]byte("$49.00")), nil},
		"another request":  {idem.FingerprintOf([]byte("$9000.00")), idem.ErrMismatch},
	} {
		t.Run(name, func(t *testing.T) {
			b := setup(t)
			key := b.key("k")
			b.insertFinished(key, "the old answer")
			b.insertStep(key, "capture")
			b.age(key, 2*time.Hour)
			rival := key
			rival.Fingerprint = test.fingerprint
			first, second := b.session("first"), b.session("second")
			lock := b.begin()
			end := second.gets("a replay of the new life", replayOf(created()))
			if test.loserWants != nil {
				end = second.fails(test.loserWants)
			}
			b.inOrder(
				do("the row is locked", func() {
					if _, err := lock.Exec(b.ctx, "SELECT FROM idem.keys WHERE tenant_id = $1 FOR UPDATE", key.Tenant); err != nil {
						t.Fatal(err)
					}
				}),
				first.does(key, func(ctx context.Context, tx pgx.Tx) (*idem.Response, error) {
					var steps int
					if err := tx.QueryRow(ctx, "SELECT count(*) FROM idem.steps").Scan(&steps); err != nil || steps != 0 {
						t.Errorf("%d steps of the old life, %v; want 0", steps, err)
					}
					return charge("k")(ctx, tx)
				}),
				b.blocked(1),
				second.does(rival, mustNotRun(t)),
				b.blocked(2),
				do("the row is free", func() { b.rollback(lock) }),
				first.works(), b.blocked(1),
				first.goesOn(),
				first.gets("a first answer", created()),
				end,
			)
			if n := b.charges("k"); n != 1 {
				t.Errorf("%d charges, want 1", n)
			}
		})
	}
}

// Somebody prolongs the answer's life while a claim waits to start a new one.
func TestExpiredRowThatIsProlongedMeanwhileReplays(t *testing.T) {
	b := setup(t)
	key := b.key("k")
	b.insertFinished(key, `{"id":"ch_1"}`+"\n")
	b.age(key, 2*time.Hour)
	operator := b.begin()
	late := b.session("late")
	b.inOrder(
		do("an operator prolongs it", func() {
			if _, err := operator.Exec(b.ctx, "UPDATE idem.keys SET expires_at = now() + interval '1 day' WHERE tenant_id = $1", key.Tenant); err != nil {
				t.Fatal(err)
			}
		}),
		late.does(key, mustNotRun(t)), b.blocked(1),
		do("the operator commits", func() {
			if err := operator.Commit(b.ctx); err != nil {
				t.Fatal(err)
			}
		}),
		late.gets("the old answer", &idem.Response{Status: 201, Body: []byte(`{"id":"ch_1"}` + "\n"), Replayed: true}),
	)
}

// In lease mode the winner of an expired row has its lease at once, and the loser is told what it meets.
func TestExpiredRowReclaimedByTwoLeases(t *testing.T) {
	b := setup(t)
	for name, test := range map[string]struct {
		fingerprint idem.Fingerprint
		loserWants  error
	}{
		"the same request": {idem.FingerprintOf([]byte("$49.00")), idem.ErrInFlight},
		"another request":  {idem.FingerprintOf([]byte("$9000.00")), idem.ErrMismatch},
	} {
		t.Run(name, func(t *testing.T) {
			b := b.on(t)
			key := b.key("k")
			b.insertFinished(key, "the old answer")
			b.insertStep(key, "capture")
			b.age(key, 2*time.Hour)
			rival := key
			rival.Fingerprint = test.fingerprint
			claims := func(key idem.Key) call {
				return func(ctx context.Context, s *session) (*idem.Response, error) {
					_, resp, err := s.store.Claim(ctx, key)
					return resp, err
				}
			}
			first, second := b.session("first"), b.session("second")
			lock := b.begin()
			b.inOrder(
				do("the row is locked", func() {
					if _, err := lock.Exec(b.ctx, "SELECT FROM idem.keys WHERE tenant_id = $1 FOR UPDATE", key.Tenant); err != nil {
						t.Fatal(err)
					}
				}),
				first.starts("Claim", claims(key)), b.blocked(1),
				second.starts("Claim", claims(rival)), b.blocked(2),
				do("the row is free", func() { b.rollback(lock) }),
				do("first has the lease", func() {
					if first.wait(); first.err != nil || first.resp != nil {
						t.Fatalf("first got %+v, %v; want the lease", first.resp, first.err)
					}
				}),
				second.fails(test.loserWants),
			)
			if n := b.steps(key); n != 0 {
				t.Errorf("%d steps of the old life, want 0", n)
			}
			record, err := b.store.Lookup(b.ctx, key)
			if err != nil || record.Attempts != 1 || record.Key.Fingerprint != key.Fingerprint || record.Response != nil {
				t.Errorf("the new life is %+v, %v; want attempt 1, the new fingerprint and no answer", record, err)
			}
		})
	}
}

// A new life has nothing of the old one: request, reference, answer, steps.
func TestNewLifeHasNothingOfTheOldOne(t *testing.T) {
	b := setup(t)
	for name, end := range map[string]func(*bundle, idem.Key, *idem.Lease) error{
		"expired": func(b *bundle, key idem.Key, l *idem.Lease) error {
			b.insertStep(key, "capture")
			err := l.Complete(b.ctx, &idem.Response{Status: 402, Body: []byte("old"), ProviderRef: "old", Failed: true})
			b.age(key, 2*time.Hour)
			return err
		},
		"given back": func(b *bundle, _ idem.Key, l *idem.Lease) error { return l.Release(b.ctx) },
	} {
		t.Run(name, func(t *testing.T) {
			b := b.on(t)
			old := b.key("k")
			old.Request = "old"
			if err := end(b, old, b.claim(b.store, old)); err != nil {
				t.Fatal(err)
			}
			renewed := b.key("k")
			renewed.Fingerprint, renewed.Request = idem.FingerprintOf([]byte("new")), "new"
			lease := b.claim(b.newStore(idem.Policy{Retention: time.Hour, Handler: "new"}), renewed)
			record, err := b.store.Lookup(b.ctx, renewed)
			if err != nil {
				t.Fatal(err)
			}
			if record.State != idem.StateHeld || record.Attempts != 1 || record.Handler != "new" || record.Response != nil ||
				record.Key.Fingerprint != renewed.Fingerprint || lease.Attempt() != 1 || b.steps(renewed) != 0 {
				t.Errorf("the new life is %+v with %d steps", record, b.steps(renewed))
			}
			if n := b.count("SELECT count(*) FROM idem.keys WHERE tenant_id = $1 AND request = 'new' AND provider_ref IS NULL", old.Tenant); n != 1 {
				t.Error("request or reference of the old life is left")
			}
		})
	}
}

// A key that was given back with recorded steps goes on in the same life.
func TestKeyGivenBackWithStepsKeepsThem(t *testing.T) {
	b := setup(t)
	key := b.key("k")
	first := b.claim(b.store, key)
	b.insertStep(key, "capture")
	if err := first.Release(b.ctx); err != nil {
		t.Fatal(err)
	}
	second := b.claim(b.newStore(patient), key)
	if second.Attempt() != 2 || second.Fence() <= first.Fence() || b.steps(key) != 1 {
		t.Errorf("attempt %d, fence %d after %d, %d steps; want 2, a higher one, 1", second.Attempt(), second.Fence(), first.Fence(), b.steps(key))
	}
	if first.DownstreamKey("capture") != second.DownstreamKey("capture") {
		t.Error("the downstream key changed within a life")
	}
}

// The claim waits for nothing but another new claim: not for an open completion, heartbeat, sweep or lock of a row that stands.
func TestOpenUpdateBlocksNeitherReplayNorConflict(t *testing.T) {
	b := setup(t)
	lock := "SELECT FROM idem.keys WHERE tenant_id = $1 FOR UPDATE"
	update := "UPDATE idem.keys SET expires_at = expires_at + interval '1 s' WHERE tenant_id = $1"
	remove := "DELETE FROM idem.keys WHERE tenant_id = $1"
	for name, open := range map[string]string{"a lock": lock, "an update": update, "a deletion": remove} {
		t.Run(name+" of a finished key", func(t *testing.T) {
			b := b.on(t)
			key := b.key("k")
			b.insertFinished(key, "first")
			tx := b.begin()
			if _, err := tx.Exec(b.ctx, open, key.Tenant); err != nil {
				t.Fatal(err)
			}
			wantUnblocked(t, func(ctx context.Context) error {
				again, err := b.newStore(patient).Do(ctx, key, mustNotRun(t))
				if err == nil && !again.Replayed {
					err = errors.New("no replay")
				}
				return err
			})
		})
	}
	t.Run("an open CompleteTx", func(t *testing.T) {
		b := b.on(t)
		key := b.key("k")
		lease := b.claim(b.store, key)
		tx := b.begin()
		if err := lease.CompleteTx(b.ctx, tx, created()); err != nil {
			t.Fatal(err)
		}
		wantUnblocked(t, func(ctx context.Context) error {
			_, _, err := b.newStore(patient).Claim(ctx, key)
			wantIs(t, err, idem.ErrInFlight)
			return nil
		})
		if err := tx.Commit(b.ctx); err != nil {
			t.Fatal(err)
		}
		wantUnblocked(t, func(ctx context.Context) error {
			_, resp, err := b.newStore(patient).Claim(ctx, key)
			if err == nil && (resp == nil || !resp.Replayed) {
				err = errors.New("no replay")
			}
			return err
		})
	})
}

// wantUnblocked runs a call that would wait for 20 s if it waited for the row.
func wantUnblocked(t *testing.T, call func(context.Context) error) {
	t.Helper()
	began := time.Now()
	if err := call(t.Context()); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("the call waited %v for the row", took)
	}
}

// The default isolation of a role or database is not the protocol's: a loser must see the winner's commit.
func TestClaimNamesReadCommittedWhateverTheDefault(t *testing.T) {
	b := setup(t)
	for _, level := range []string{"repeatable read", "serializable"} {
		strict := func(c *pgxpool.Config) { c.ConnConfig.RuntimeParams["default_transaction_isolation"] = level }
		winner, loser := b.sharing("winner", b.process(patient, strict)), b.sharing("loser", b.process(patient, strict))
		b.inOrder(
			winner.does(b.key(level), charge("k")), winner.works(),
			loser.does(b.key(level), mustNotRun(t)), b.blocked(1),
			winner.goesOn(),
			winner.gets("its own answer", created()),
			loser.gets("a replay", replayOf(created())),
		)
	}
}

// A lease holds no lock that a rival in another process could wait for: Hold asks again until Wait runs out.
func TestHoldAsksAgainWhileAnotherProcessHolds(t *testing.T) {
	b := setup(t)
	for name, test := range map[string]struct {
		winner idem.Work
		want   *idem.Response
	}{
		"until the answer is there": {answers(created()), replayOf(created())},
		"until the key is given back": {
			func(context.Context, *idem.Lease) (*idem.Response, error) { return nil, idem.Transient(errWork) }, created(),
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := b.on(t)
			counted := new(trips)
			winner, loser := b.session("winner"), b.sharing("loser", b.process(patient, counted.trace))
			close(loser.goOn)
			b.inOrder(
				winner.holds(b.key("k"), test.winner), winner.works(),
				loser.holds(b.key("k"), answers(created())),
				do("loser asks three times", func() {
					b.eventually(func() bool { return counted.n.Load() >= 3 }, "loser gave up after %d looks", counted.n.Load())
				}),
				winner.goesOn(),
				loser.gets("what the winner left", test.want),
			)
		})
	}
}
