package idem_test

import (
	"context"
	"errors"
	"regexp"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/idem"
)

func TestHeartbeatKeepsAShortLeaseAliveForThreeLengths(t *testing.T) {
	b := setup(t)
	key := b.key("k")
	holder := b.session("holder", idem.Policy{Lease: 300 * time.Millisecond, Retention: time.Hour})
	lives := `SELECT count(*) FROM idem.keys WHERE tenant_id = $1 AND locked_until > statement_timestamp()
		AND claimed_at < statement_timestamp() - interval '900 ms' AND attempts = 1`
	b.inOrder(
		holder.holds(key, answers(created())), holder.works(),
		do("the lease lives after three lengths", func() {
			b.eventually(func() bool { return b.count(lives, key.Tenant) == 1 }, "the lease lapsed: %s", b.row(key))
		}),
		holder.goesOn(), holder.gets("its own answer", created()),
	)
	// the heartbeat has ended with the call: nothing moves the row any more
	row := b.row(key)
	b.exec("SELECT pg_sleep(0.3)")
	if after := b.row(key); after != row {
		t.Errorf("something still writes the row:\n%s\n%s", row, after)
	}
}

// While handlers take every connection of the pool, heartbeats and completions have their own (C30).
func TestC30HeartbeatAndCompletionDoNotNeedThePool(t *testing.T) {
	b := setup(t)
	key := b.key("k")
	store := b.process(idem.Policy{Lease: 300 * time.Millisecond, Retention: time.Hour}, func(c *pgxpool.Config) { c.MaxConns = 1 })
	holder := b.sharing("holder", store)
	var conn *pgxpool.Conn
	lives := `SELECT count(*) FROM idem.keys WHERE tenant_id = $1 AND locked_until > statement_timestamp()
		AND claimed_at < statement_timestamp() - interval '900 ms' AND attempts = 1`
	b.inOrder(
		holder.holds(key, answers(created())), holder.works(),
		do("a handler takes the only connection: none is held", func() {
			var err error
			if conn, err = store.Pool.Acquire(b.ctx); err != nil {
				t.Fatal(err)
			}
		}),
		do("the lease lives after three lengths", func() {
			b.eventually(func() bool { return b.count(lives, key.Tenant) == 1 }, "the lease lapsed: %s", b.row(key))
		}),
		holder.goesOn(), holder.gets("its own answer", created()),
	)
	conn.Release()
}

// A heartbeat that fails says nothing about the fence: the work goes on and completes.
func TestHeartbeatThatFailsLeavesTheWorkRunning(t *testing.T) {
	b := setup(t)
	b.exec("CREATE SEQUENCE failed_beats")
	b.exec(`CREATE FUNCTION fail_beat() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN
			PERFORM nextval('public.failed_beats');
			RAISE 'no heartbeat today';
		END $$`)
	b.execAsOwner(`CREATE TRIGGER beats_fail BEFORE UPDATE ON idem.keys FOR EACH ROW
		WHEN (NEW.status = 'in_flight' AND NEW.locked_until > OLD.locked_until) EXECUTE FUNCTION fail_beat()`)
	key := b.key("k")
	holder := b.session("holder", idem.Policy{Lease: 300 * time.Millisecond, Retention: time.Hour})
	b.inOrder(
		holder.holds(key, func(ctx context.Context, _ *idem.Lease) (*idem.Response, error) {
			if ctx.Err() != nil {
				t.Errorf("the work's context was cancelled: %v", context.Cause(ctx))
			}
			return created(), nil
		}),
		holder.works(),
		do("four heartbeats fail, and the lease lapses", func() {
			b.eventually(func() bool {
				return b.count("SELECT last_value FROM failed_beats") >= 4 &&
					b.count("SELECT count(*) FROM idem.keys WHERE tenant_id = $1 AND locked_until < statement_timestamp()", key.Tenant) == 1
			}, "heartbeats never failed")
		}),
		holder.goesOn(), holder.gets("its own answer", created()),
	)
	if again, err := b.store.Hold(b.ctx, key, holdMustNotRun(t)); err != nil || !again.Replayed {
		t.Errorf("got %+v, %v; want a replay", again, err)
	}
}

// Only the database's word that the fence is gone ends the work.
func TestLostFenceCancelsTheWorkWithItsCause(t *testing.T) {
	b := setup(t)
	for name, test := range map[string]struct {
		take func(*bundle, idem.Key)
		want func(*testing.T, *idem.Response, error)
	}{
		"to a holder at work": {
			func(b *bundle, key idem.Key) {
				b.exec("UPDATE idem.keys SET fence = fence + 1, claim_id = gen_random_uuid(), locked_until = now() + interval '1 h' WHERE tenant_id = $1", key.Tenant)
			},
			func(t *testing.T, resp *idem.Response, err error) {
				wantIs(t, err, idem.ErrLeaseLost)
				if resp != nil {
					t.Errorf("an answer left: %+v", resp)
				}
			},
		},
		"to a holder that finished": {
			func(b *bundle, key idem.Key) {
				b.exec("UPDATE idem.keys SET fence = fence + 1, claim_id = gen_random_uuid() WHERE tenant_id = $1", key.Tenant)
				b.exec(`UPDATE idem.keys SET status = 'committed', locked_until = NULL, leased = false, completed_at = now(), response_status = 200,
					response_header = '', response_body = 'theirs' WHERE tenant_id = $1`, key.Tenant)
			},
			func(t *testing.T, resp *idem.Response, err error) {
				if err != nil || !resp.Replayed || string(resp.Body) != "theirs" {
					t.Errorf("got %+v, %v; want the recorded answer", resp, err)
				}
			},
		},
		"to nobody: the key was forgotten": {
			func(b *bundle, key idem.Key) { b.delete(key) },
			func(t *testing.T, _ *idem.Response, err error) { wantIs(t, err, idem.ErrLeaseLost) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := b.on(t)
			key := b.key("k")
			store := b.newStore(idem.Policy{Lease: 300 * time.Millisecond, Retention: time.Hour})
			resp, err := store.Hold(b.ctx, key, func(ctx context.Context, _ *idem.Lease) (*idem.Response, error) {
				test.take(b, key)
				b.receive(ctx.Done(), "the work's context was never cancelled")
				if cause := context.Cause(ctx); !errors.Is(cause, idem.ErrLeaseLost) {
					t.Errorf("the cause is %v, want ErrLeaseLost", cause)
				}
				return &idem.Response{Status: 201, Body: []byte("mine")}, nil
			})
			test.want(t, resp, err)
		})
	}
}

// A client that hangs up changes nothing, and what its context carries is there (C02).
func TestC02ClientThatHangsUpDoesNotReachTheWork(t *testing.T) {
	b := setup(t)
	type user struct{}
	key := b.key("k")
	ctx, hangUp := context.WithCancel(context.WithValue(b.ctx, user{}, "T1"))
	resp, err := b.store.Hold(ctx, key, func(ctx context.Context, _ *idem.Lease) (*idem.Response, error) {
		hangUp()
		if ctx.Err() != nil {
			t.Errorf("the client's end reached the work: %v", context.Cause(ctx))
		}
		if _, has := ctx.Deadline(); has {
			t.Error("the work has a deadline that nobody set")
		}
		if ctx.Value(user{}) != "T1" {
			t.Error("the context lost its values")
		}
		return created(), nil
	})
	if err != nil || resp.Status != 201 {
		t.Fatalf("got %+v, %v; want the answer, recorded", resp, err)
	}
	if again, err := b.store.Hold(b.ctx, key, holdMustNotRun(t)); err != nil || !again.Replayed {
		t.Errorf("got %+v, %v; want a replay", again, err)
	}
}

// A context that has ended before the claim runs nothing and leaves the key free.
func TestClientGoneBeforeTheClaimRunsNothing(t *testing.T) {
	b := setup(t)
	gone, cancel := context.WithCancelCause(b.ctx)
	cancel(errors.New("gone"))
	for mode, call := range map[string]func(idem.Key) error{
		"Do":    func(key idem.Key) error { _, err := b.store.Do(gone, key, mustNotRun(t)); return err },
		"Hold":  func(key idem.Key) error { _, err := b.store.Hold(gone, key, holdMustNotRun(t)); return err },
		"Claim": func(key idem.Key) error { _, _, err := b.store.Claim(gone, key); return err },
	} {
		t.Run(mode, func(t *testing.T) {
			b := b.on(t)
			if err := call(b.key("k")); err == nil {
				t.Error("got no error")
			}
			if resp, err := b.store.Do(b.ctx, b.key("k"), charge(mode)); err != nil || resp.Replayed {
				t.Errorf("the next caller got %+v, %v; want a first answer", resp, err)
			}
		})
	}
}

func TestTransientErrorGivesTheKeyBackAndAnyOtherDoesNot(t *testing.T) {
	b := setup(t)
	for name, test := range map[string]struct {
		fn    idem.Work
		state idem.State
	}{
		"an error": {func(context.Context, *idem.Lease) (*idem.Response, error) { return nil, errWork }, idem.StateAbandoned},
		"a transient error": {func(context.Context, *idem.Lease) (*idem.Response, error) {
			return nil, idem.Transient(errWork)
		}, idem.StateReleased},
		"a wrapped transient error": {func(context.Context, *idem.Lease) (*idem.Response, error) {
			return nil, errors.Join(errors.New("calling"), idem.Transient(errWork))
		}, idem.StateReleased},
		"a transient error of the only call": {func(_ context.Context, l *idem.Lease) (*idem.Response, error) {
			l.DownstreamKey("capture")
			return nil, idem.Transient(errWork)
		}, idem.StateReleased},
		"a transient error of the second call": {func(_ context.Context, l *idem.Lease) (*idem.Response, error) {
			l.DownstreamKey("capture")
			l.DownstreamKey("notify")
			return nil, idem.Transient(errWork)
		}, idem.StateAbandoned},
		"a transient nothing": {func(context.Context, *idem.Lease) (*idem.Response, error) {
			return created(), idem.Transient(nil)
		}, idem.StateCommitted},
		"an answer beside an error": {func(context.Context, *idem.Lease) (*idem.Response, error) { return created(), errWork }, idem.StateAbandoned},
		"nothing at all":            {func(context.Context, *idem.Lease) (*idem.Response, error) { return nil, nil }, idem.StateCommitted},
	} {
		t.Run(name, func(t *testing.T) {
			b := b.on(t)
			resp, err := b.store.Hold(b.ctx, b.key("k"), test.fn)
			if finished := test.state == idem.StateCommitted; (err == nil) != finished || (resp != nil) != finished {
				t.Errorf("got %+v, %v", resp, err)
			}
			if record, err := b.store.Lookup(b.ctx, b.key("k")); err != nil || record.State != test.state {
				t.Errorf("the key is %+v, %v; want %s", record, err, test.state)
			}
		})
	}
}

// fn may end the lease itself; then what it recorded is the answer.
func TestWorkThatEndsTheLeaseItself(t *testing.T) {
	b := setup(t)
	mine := &idem.Response{Status: 201, Body: []byte("recorded"), Header: map[string][]string{"A": {"b"}}}
	other := &idem.Response{Status: 500, Body: []byte("returned")}
	for name, test := range map[string]struct {
		fn   idem.Work
		want *idem.Response // nil: an error
		err  error
	}{
		"Complete, then nothing":  {func(ctx context.Context, l *idem.Lease) (*idem.Response, error) { return nil, l.Complete(ctx, mine) }, mine, nil},
		"Complete, then another":  {func(ctx context.Context, l *idem.Lease) (*idem.Response, error) { return other, l.Complete(ctx, mine) }, mine, nil},
		"Release, then an answer": {func(ctx context.Context, l *idem.Lease) (*idem.Response, error) { return other, l.Release(ctx) }, other, nil},
		"Abandon":                 {func(ctx context.Context, l *idem.Lease) (*idem.Response, error) { return other, l.Abandon(ctx) }, nil, idem.ErrOutcomeUnknown},
		"CompleteTx, committed": {func(ctx context.Context, l *idem.Lease) (*idem.Response, error) {
			return nil, pgx.BeginFunc(ctx, b.pool, func(tx pgx.Tx) error {
				return errors.Join(insertCharge(ctx, tx, "CompleteTx"), l.CompleteTx(ctx, tx, mine))
			})
		}, mine, nil},
		"CompleteTx, committed, then another": {func(ctx context.Context, l *idem.Lease) (*idem.Response, error) {
			return other, pgx.BeginFunc(ctx, b.pool, func(tx pgx.Tx) error { return l.CompleteTx(ctx, tx, mine) })
		}, mine, nil},
		"CompleteTx, rolled back, then another": {func(ctx context.Context, l *idem.Lease) (*idem.Response, error) {
			return other, completeAndRollBack(ctx, b, l, mine)
		}, other, nil},
		"CompleteTx, rolled back, then nothing": {func(ctx context.Context, l *idem.Lease) (*idem.Response, error) {
			return nil, completeAndRollBack(ctx, b, l, mine)
		}, nil, idem.ErrOutcomeUnknown},
		"CompleteTx, rolled back, then Complete": {func(ctx context.Context, l *idem.Lease) (*idem.Response, error) {
			return nil, errors.Join(completeAndRollBack(ctx, b, l, other), l.Complete(ctx, mine))
		}, mine, nil},
		"CompleteTx, rolled back, then CompleteTx": {func(ctx context.Context, l *idem.Lease) (*idem.Response, error) {
			return nil, errors.Join(completeAndRollBack(ctx, b, l, other), pgx.BeginFunc(ctx, b.pool, func(tx pgx.Tx) error {
				return l.CompleteTx(ctx, tx, mine)
			}))
		}, mine, nil},
	} {
		t.Run(name, func(t *testing.T) {
			b := b.on(t)
			resp, err := b.store.Hold(b.ctx, b.key("k"), test.fn)
			if test.want == nil {
				wantIs(t, err, test.err)
				if resp != nil {
					t.Errorf("an answer left: %+v", resp)
				}
				return
			}
			if err != nil || resp.Status != test.want.Status || string(resp.Body) != string(test.want.Body) || resp.Replayed {
				t.Fatalf("got %+v, %v; want %+v", resp, err, test.want)
			}
			record, err := b.store.Lookup(b.ctx, b.key("k"))
			if err != nil {
				t.Fatal(err)
			}
			if name == "Release, then an answer" {
				if record.State != idem.StateReleased || record.Response != nil {
					t.Errorf("the key is %+v; want released", record)
				}
			} else if record.Response == nil || string(record.Response.Body) != string(test.want.Body) {
				t.Errorf("recorded is %+v; want what was returned", record)
			}
		})
	}
	if n := b.charges("CompleteTx"); n != 1 {
		t.Errorf("%d rows beside CompleteTx, want 1", n)
	}
}

func completeAndRollBack(ctx context.Context, b *bundle, l *idem.Lease, r *idem.Response) error {
	tx, err := b.pool.Begin(ctx)
	if err != nil {
		return err
	}
	return errors.Join(l.CompleteTx(ctx, tx, r), tx.Rollback(ctx))
}

// Do meets a key of lease mode: it never takes an unfinished one over, and claims one that was given back.
func TestDoNeverTakesOverAKeyOfLeaseMode(t *testing.T) {
	b := setup(t)
	policy := rerun
	policy.Wait = -1
	store := b.newStore(policy)
	for name, test := range map[string]struct {
		prepare func(*bundle, idem.Key, *idem.Lease) error
		want    error
	}{
		"held":      {func(*bundle, idem.Key, *idem.Lease) error { return nil }, idem.ErrInFlight},
		"abandoned": {func(b *bundle, _ idem.Key, l *idem.Lease) error { return l.Abandon(b.ctx) }, idem.ErrOutcomeUnknown},
		"released":  {func(b *bundle, _ idem.Key, l *idem.Lease) error { return l.Release(b.ctx) }, nil},
		"released with steps": {func(b *bundle, key idem.Key, l *idem.Lease) error {
			b.insertStep(key, "capture")
			return l.Release(b.ctx)
		}, nil},
		"lapsed": {func(b *bundle, key idem.Key, _ *idem.Lease) error { b.age(key, time.Hour); return nil }, idem.ErrOutcomeUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			b := b.on(t)
			key := b.key("k")
			if err := test.prepare(b, key, b.claim(store, key)); err != nil {
				t.Fatal(err)
			}
			work := mustNotRun(t)
			if test.want == nil {
				work = charge(name)
			}
			if _, err := store.Do(b.ctx, key, work); !errors.Is(err, test.want) {
				t.Errorf("Do: got %v, want %v", err, test.want)
			}
		})
	}
}

// Retry-After is the smaller of what the lease has left and 1 s doubled with the attempt's age, up to 10 s.
func TestRetryAfterGrowsWithTheAgeOfTheAttempt(t *testing.T) {
	b := setup(t)
	store := b.newStore(idem.Policy{Retention: 24 * time.Hour, Lease: time.Hour, Wait: -1})
	for _, test := range []struct{ age, lease, least, most time.Duration }{
		{0, time.Hour, time.Second, 2 * time.Second},
		{3 * time.Second, time.Hour, 4 * time.Second, 4 * time.Second},
		{time.Minute, time.Hour, 10 * time.Second, 10 * time.Second},
		{time.Minute, 5 * time.Second, time.Second, 5 * time.Second},
	} {
		key := b.key(test.age.String() + test.lease.String())
		b.claim(store, key)
		b.exec(`UPDATE idem.keys SET claimed_at = statement_timestamp() - $2::interval, locked_until = statement_timestamp() + $3::interval
			WHERE key = $1`, key.ID, test.age, test.lease)
		_, _, err := store.Claim(b.ctx, key)
		wantIs(t, err, idem.ErrInFlight)
		if after, _ := idem.RetryAfter(err); after < test.least || after > test.most {
			t.Errorf("age %v, lease %v: RetryAfter %v, want %v to %v", test.age, test.lease, after, test.least, test.most)
		}
	}
}

// The downstream key depends on the request alone, and has the form that every processor takes.
func TestDownstreamKeyIsStableAndOneARequest(t *testing.T) {
	b := setup(t)
	store := b.newStore(rerun)
	key := b.key("k")
	first := b.claim(store, key)
	capture := first.DownstreamKey("capture")
	if !regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`).MatchString(capture) {
		t.Errorf("%q is no UUID of version 8", capture)
	}
	seen := map[string]string{capture: "capture"}
	differs := func(what, got string) {
		t.Helper()
		if other := seen[got]; other != "" {
			t.Errorf("%s has the downstream key of %s", what, other)
		}
		seen[got] = what
	}
	differs("another step", first.DownstreamKey("refund"))
	differs("no step", first.DownstreamKey(""))
	for what, change := range map[string]func(*idem.Key){
		"another tenant":   func(k *idem.Key) { k.Tenant += "2" },
		"another endpoint": func(k *idem.Key) { k.Endpoint += "2" },
		"another key":      func(k *idem.Key) { k.ID += "2" },
	} {
		other := key
		change(&other)
		differs(what, b.claim(store, other).DownstreamKey("capture"))
	}
	b.age(key, time.Hour)
	if again := b.claim(store, key).DownstreamKey("capture"); again != capture {
		t.Error("a takeover changed the downstream key")
	}
	anyone := key
	anyone.Fingerprint = idem.AnyRequest
	b.age(key, time.Hour)
	last := b.claim(store, anyone)
	if last.DownstreamKey("capture") != capture {
		t.Error("the caller's AnyRequest changed the downstream key: it is derived from what is stored")
	}
	if err := last.Complete(b.ctx, created()); err != nil {
		t.Fatal(err)
	}
	b.age(key, 2*time.Hour)
	key.Fingerprint = idem.FingerprintOf([]byte("another request in a later life"))
	differs("another request", b.claim(store, key).DownstreamKey("capture"))
}
