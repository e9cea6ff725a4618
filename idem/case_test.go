package idem_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pgidem/pgidem/idem"
)

// C03: a holder outlives its lease, another takes the key, and the first comes back.
func TestC03ZombieNeitherAnswersNorSpoilsTheAnswer(t *testing.T) {
	b := setup(t)
	for where, another := range map[string]func(*idem.Store) *idem.Store{
		"in the same process": func(s *idem.Store) *idem.Store { return s },
		"in another process":  func(*idem.Store) *idem.Store { return b.newStore(rerun) },
	} {
		for what, cycle := range map[string]bool{"taken over": false, "given back and taken again": true} {
			t.Run(where+"/"+what, func(t *testing.T) {
				b := b.on(t)
				storeA, key := b.newStore(rerun), b.key("k")
				storeB := another(storeA)
				a := []*idem.Lease{b.claim(storeA, key)} // one lease a call, for each ends it
				if cycle {
					if err := a[0].Release(b.ctx); err != nil {
						t.Fatal(err)
					}
					a[0] = b.claim(storeA, key)
				}
				b.age(key, 2*rerun.Lease)
				second := b.claim(storeB, key)
				if second.Fence() <= a[0].Fence() {
					t.Fatalf("fence %d after %d", second.Fence(), a[0].Fence())
				}
				wantIs(t, a[0].Extend(b.ctx), idem.ErrLeaseLost)
				wantIs(t, a[0].Complete(b.ctx, &idem.Response{Status: 201, Body: []byte("A")}), idem.ErrLeaseLost)
				if err := a[0].Release(b.ctx); err == nil {
					t.Error("Release of a lost lease succeeded")
				}
				if err := second.Complete(b.ctx, &idem.Response{Status: 201, Body: []byte("B")}); err != nil {
					t.Fatal(err)
				}
				wantIs(t, a[0].Extend(b.ctx), idem.ErrLeaseLost)
				again, err := storeA.Hold(b.ctx, key, holdMustNotRun(t))
				if err != nil || string(again.Body) != "B" {
					t.Errorf("a later caller got %+v, %v; want B's answer", again, err)
				}
			})
		}
	}
}

// C05: 64 equal requests over two processes, all released at one barrier.
func TestC05StormOfEqualRequestsHasOneEffect(t *testing.T) {
	b := setup(t)
	for name, id := range map[string]string{
		"a UUID":          "5f0c1c0e-8d7e-4f6b-9a0f-2f3d1f6a7b01",
		"a PayPal event":  "WH-19973656YF2525435-0L5307418M4532447",
		"a GitHub one":    "72d3162e-cc78-11e3-81ab-4c9367dc0958",
		"a Stripe event":  "evt_1NG8Du2eZvKYlo2CUI79vXWy",
		"of two words":    "order 4711",
		"of 255 bytes":    fmt.Sprintf("%0255d", 1),
		"with a quote":    `it's "quoted" \ $1 %`,
		"beyond ASCII":    "クレジット-é-🙂",
		"a single letter": "x",
	} {
		t.Run(name, func(t *testing.T) {
			b := b.on(t)
			processes := []*idem.Store{b.process(idem.Policy{Retention: time.Hour, Wait: 10 * time.Second}), b.process(idem.Policy{Retention: time.Hour, Wait: 10 * time.Second})}
			var answers sum
			storm(64, func(i int) { answers.add(processes[i%2].Do(b.ctx, b.key(id), charge(id))) })
			answers.wantOneFresh(t)
			if n := b.charges(id); n != 1 {
				t.Errorf("%d charges, want 1", n)
			}
		})
	}
}

// C07: one client key, several tenants.
func TestC07TenantsNeverMeet(t *testing.T) {
	b := setup(t)
	k1 := func(tenant, id, body string) idem.Key {
		return idem.Key{Tenant: tenant, Endpoint: "POST /charges", ID: id, Fingerprint: idem.FingerprintOf([]byte(body))}
	}
	for i, key := range []idem.Key{
		k1("T1", "K1", "A"), k1("T2", "K1", "A"), k1("T3", "K1", "other"), k1("t1", "K1", "A"), k1("a:b", "c", "A"), k1("a", "b:c", "A"),
	} {
		resp, err := b.store.Do(b.ctx, key, func(ctx context.Context, tx pgx.Tx) (*idem.Response, error) {
			return &idem.Response{Status: 201, Body: []byte(key.Tenant + "'s")}, insertCharge(ctx, tx, "C07")
		})
		if err != nil || resp.Replayed || string(resp.Body) != key.Tenant+"'s" || b.charges("C07") != i+1 {
			t.Errorf("tenant %q got %+v, %v; want its own run", key.Tenant, resp, err)
		}
	}
	anonymous := k1("", "K1", "A")
	_, err := b.store.Do(b.ctx, anonymous, mustNotRun(t)) // never a shared bucket
	wantIs(t, err, idem.ErrInvalidKey)
}

// C08: one client key for another method, path or query. The concrete request is part of the fingerprint, the route of the endpoint.
func TestC08AnotherPathOrQueryIsAnotherRequest(t *testing.T) {
	b := setup(t)
	request := func(route, target string) idem.Key {
		return idem.Key{Tenant: "T1", Endpoint: route, ID: "K1", Fingerprint: idem.FingerprintJSON([]byte("{}"), []byte(route), []byte(target))}
	}
	for _, test := range []struct{ first, second idem.Key }{
		{request("POST /orders/{id}/refund", "/orders/1/refund"), request("POST /orders/{id}/refund", "/orders/2/refund")},
		{request("POST /refund", "/refund?order=1"), request("POST /refund", "/refund?order=2")},
	} {
		if _, err := b.store.Do(b.ctx, test.first, charge("C08")); err != nil {
			t.Fatal(err)
		}
		_, err := b.store.Do(b.ctx, test.second, mustNotRun(t))
		wantIs(t, err, idem.ErrMismatch)
	}
	for _, key := range []idem.Key{request("POST /x", "/x"), request("PATCH /x", "/x")} {
		if resp, err := b.store.Do(b.ctx, key, charge("C08")); err != nil || resp.Replayed {
			t.Errorf("%s: got %+v, %v; want a run of its own", key.Endpoint, resp, err)
		}
	}
}

// C23: a crash between claim and completion is not a conflict for the whole retention.
func TestC23CrashFreesTheKeyWithinOneLease(t *testing.T) {
	b := setup(t)
	t.Run("lease mode", func(t *testing.T) {
		b := b.on(t)
		policy := idem.Policy{Retention: 24 * time.Hour, Lease: 2 * time.Second, Wait: -1}
		refusing := b.newStore(policy)
		policy.Stale = idem.StaleRerun
		rerunning := b.newStore(policy)
		key := b.key("k")
		b.claim(b.newStore(policy), key) // the process dies here
		b.exec("UPDATE idem.keys SET locked_until = statement_timestamp() + interval '2 s' WHERE tenant_id = $1", key.Tenant)
		for _, store := range []*idem.Store{refusing, rerunning} {
			_, _, err := store.Claim(b.ctx, key)
			wantIs(t, err, idem.ErrInFlight)
			if after, ok := idem.RetryAfter(err); !ok || after > 2*time.Second {
				t.Errorf("RetryAfter %v, want at most the lease", after)
			}
		}
		b.age(key, 3*time.Second)
		_, _, err := refusing.Claim(b.ctx, key)
		wantIs(t, err, idem.ErrOutcomeUnknown)
		if lease := b.claim(rerunning, key); lease.Attempt() != 2 {
			t.Errorf("attempt %d, want 2", lease.Attempt())
		}
	})
	t.Run("atomic mode: at once", func(t *testing.T) {
		b := b.on(t)
		key := b.key("k")
		crashed, next := b.session("crashed"), b.session("next")
		var pid uint32
		b.inOrder(
			crashed.starts("Do", func(ctx context.Context, s *session) (*idem.Response, error) {
				return s.store.Do(ctx, key, func(ctx context.Context, tx pgx.Tx) (*idem.Response, error) {
					err := insertCharge(ctx, tx, "k")
					pid = tx.Conn().PgConn().PID()
					s.hold()
					return created(), err
				})
			}),
			crashed.works(),
			next.does(key, charge("k")), b.blocked(1),
			do("the backend is killed", func() { b.execAsOwner("SELECT pg_terminate_backend($1)", pid) }),
			next.works(), next.goesOn(),
			next.gets("a first answer", created()),
			crashed.goesOn(), do("crashed ends", crashed.wait),
		)
		if n := b.charges("k"); n != 1 {
			t.Errorf("%d charges, want 1", n)
		}
		// its transaction is gone, and what stands now is the next one's answer
		if crashed.err == nil && !crashed.resp.Replayed {
			t.Errorf("the crashed call got a first answer: %+v", crashed.resp)
		}
	})
	t.Run("atomic mode: a client that falls silent", func(t *testing.T) {
		b := b.on(t)
		key := b.key("k")
		silent, next := b.session("silent", idem.Policy{Lease: 100 * time.Millisecond}), b.session("next")
		b.inOrder(
			silent.does(key, charge("silent")), silent.works(),
			next.does(key, charge("silent")), next.works(), // the server ends the silent transaction after one lease
			next.goesOn(), next.gets("a first answer", created()),
			silent.goesOn(), do("silent ends", silent.wait),
		)
		if silent.err == nil && !silent.resp.Replayed {
			t.Errorf("the silent call got a first answer: %+v", silent.resp)
		}
		if n := b.charges("silent"); n != 1 {
			t.Errorf("%d charges, want 1", n)
		}
	})
}

// C27, second half: retention counts from completion, and no sweep takes a live key, however short its retention.
func TestC27SweepNeverTakesALiveKey(t *testing.T) {
	b := setup(t)
	key := b.key("k")
	sweep := func() {
		if _, err := (&idem.Sweeper{Pool: b.pool}).Sweep(b.ctx); err != nil {
			t.Fatal(err)
		}
	}
	holder := b.session("holder", idem.Policy{Lease: 500 * time.Millisecond, Retention: 10 * time.Second})
	b.inOrder(
		holder.holds(key, answers(created())), holder.works(),
		do("retention goes by twice, and the sweep runs", func() {
			b.exec("UPDATE idem.keys SET created_at = created_at - interval '20 s', expires_at = expires_at - interval '20 s' WHERE tenant_id = $1", key.Tenant)
			sweep()
			b.eventually(func() bool {
				sweep()
				return b.count("SELECT count(*) FROM idem.keys WHERE tenant_id = $1 AND claimed_at < statement_timestamp() - interval '1500 ms'", key.Tenant) == 1
			}, "the live key was swept")
		}),
		holder.goesOn(), holder.gets("its own answer", created()),
		do("the sweep runs again", sweep),
	)
	if again, err := b.newStore(patient).Hold(b.ctx, key, holdMustNotRun(t)); err != nil || !again.Replayed {
		t.Errorf("got %+v, %v; want a replay", again, err)
	}
}

// C27: a retention below the lease would forget keys that are held.
func TestC27RetentionBelowTheLeaseIsRefused(t *testing.T) {
	b := setup(t)
	store := b.newStore(idem.Policy{Lease: time.Minute, Retention: 59 * time.Second})
	_, err := store.Do(b.ctx, b.key("k"), mustNotRun(t))
	if err == nil || errors.Is(err, idem.ErrUnavailable) {
		t.Errorf("Do: got %v, want the policy's error", err)
	}
	if err := store.Check(b.ctx); err == nil {
		t.Error("Check finds nothing")
	}
}

// C04: the effect, then a panic or an error. Nobody may say that nothing happened.
func TestC04EffectThenFailureIsNeverGivenBack(t *testing.T) {
	b := setup(t)
	key := b.key("k")
	calls := 0
	capture := func(end func() error) func() (*idem.Response, error) {
		return func() (*idem.Response, error) {
			return b.store.Hold(b.ctx, key, func(context.Context, *idem.Lease) (*idem.Response, error) {
				calls++
				return nil, end()
			})
		}
	}
	if e := run(capture(func() error { panic("smtp") })); e.panicked != "smtp" {
		t.Fatalf("got %+v, want the panic", e)
	}
	for range 2 {
		_, err := capture(func() error { return errors.New("500") })()
		wantIs(t, err, idem.ErrOutcomeUnknown)
	}
	if calls != 1 {
		t.Errorf("the provider was called %d times, want 1", calls)
	}
}
