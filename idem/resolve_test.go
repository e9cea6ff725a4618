package idem_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pgidem/pgidem/idem"
)

// resolving is StaleResolve with one minute of lease and one of settling.
func resolving(ask idem.Resolver) idem.Policy {
	return idem.Policy{Stale: idem.StaleResolve, Lease: time.Minute, Settle: time.Minute, Wait: -1, Resolve: ask}
}

func verdict(v idem.Verdict, r *idem.Response, err error) idem.Resolver {
	return func(context.Context, *idem.Record) (idem.Verdict, *idem.Response, error) { return v, r, err }
}

// abandonedBy is a key whose holder is gone.
func (b *bundle) abandonedBy(s *idem.Store, id string) *idem.Lease {
	b.t.Helper()
	lease := b.held(s, id)
	b.age(b.key(id), 10*time.Minute)
	return lease
}

func TestResolverIsAskedOnceSettleHasPassed(t *testing.T) {
	b := setup(t)
	asked := 0
	store := b.newStore(resolving(func(context.Context, *idem.Record) (idem.Verdict, *idem.Response, error) {
		asked++
		return idem.Found, created(), nil
	}))
	key := b.key("k")
	lease := b.held(store, "k")
	b.age(key, 30*time.Second)
	_, err := store.Hold(b.ctx, key, holdMustNotRun(t))
	wantIs(t, err, idem.ErrInFlight) // held
	b.age(key, 45*time.Second)       // lapsed for 15 s
	_, err = store.Hold(b.ctx, key, holdMustNotRun(t))
	wantIs(t, err, idem.ErrInFlight)
	if after, ok := idem.RetryAfter(err); !ok || after < 40*time.Second || after > 45*time.Second {
		t.Errorf("RetryAfter %v, want what remains of Settle, 45 s", after)
	}
	if err := lease.Extend(b.ctx); err != nil { // the holder is back
		t.Fatal(err)
	}
	if asked != 0 {
		t.Error("asked too early")
	}
	b.age(key, 10*time.Minute)
	if _, err := store.Hold(b.ctx, key, holdMustNotRun(t)); err != nil || asked != 1 {
		t.Errorf("%v, asked %d times", err, asked)
	}
}

func TestVerdictsOfAResolver(t *testing.T) {
	b := setup(t)
	answer := &idem.Response{Status: 201, Header: map[string][]string{"Location": {"/ch_1"}}, Body: []byte("ch_1"), ProviderRef: "ch_1"}
	for name, c := range map[string]struct {
		ask   idem.Resolver
		err   error
		runs  int
		state idem.State
	}{
		"found":                            {verdict(idem.Found, answer, nil), nil, 0, idem.StateCommitted},
		"found refused":                    {verdict(idem.Found, &idem.Response{Status: 402, Failed: true}, nil), nil, 0, idem.StateFailed},
		"found without an answer":          {verdict(idem.Found, nil, nil), nil, 0, idem.StateCommitted},
		"nothing":                          {verdict(idem.Nothing, nil, nil), nil, 1, idem.StateCommitted},
		"pending":                          {verdict(idem.Pending, nil, nil), idem.ErrOutcomeUnknown, 0, idem.StateAbandoned},
		"an error":                         {verdict(idem.Nothing, nil, errCrash), errCrash, 0, idem.StateAbandoned},
		"an error is unknown":              {verdict(idem.Found, answer, errCrash), idem.ErrOutcomeUnknown, 0, idem.StateAbandoned},
		"an answer that is none":           {verdict(idem.Found, &idem.Response{Status: 1000}, nil), idem.ErrOutcomeUnknown, 0, idem.StateAbandoned},
		"a verdict that is none":           {verdict(idem.Verdict(9), nil, nil), idem.ErrOutcomeUnknown, 0, idem.StateAbandoned},
		"the zero verdict decides nothing": {verdict(0, answer, nil), idem.ErrOutcomeUnknown, 0, idem.StateAbandoned},
	} {
		t.Run(name, func(t *testing.T) {
			b := b.on(t)
			store, key, runs := b.newStore(resolving(c.ask)), b.key("k"), 0
			old := b.abandonedBy(store, "k")
			resp, err := store.Hold(b.ctx, key, func(_ context.Context, l *idem.Lease) (*idem.Response, error) {
				if runs++; l.Fence() <= old.Fence() {
					t.Error("the fence did not rise")
				}
				return created(), nil
			})
			if !errors.Is(err, c.err) || (err == nil) != (c.err == nil) || runs != c.runs {
				t.Fatalf("%v after %d runs, want %v after %d", err, runs, c.err, c.runs)
			}
			record, lookup := store.Lookup(b.ctx, key)
			if lookup != nil || record.State != c.state {
				t.Fatalf("%+v, %v; want %s", record, lookup, c.state)
			}
			if err != nil {
				return
			}
			if resp.Replayed {
				t.Error("the first answer is marked as a replay")
			}
			again, err := store.Hold(b.ctx, key, holdMustNotRun(t))
			if err != nil || !again.Replayed || again.Status != resp.Status || string(again.Body) != string(resp.Body) {
				t.Errorf("%+v, %v; want a replay of %+v", again, err, resp)
			}
			wantIs(t, old.Complete(b.ctx, &idem.Response{Body: []byte("the old holder's")}), idem.ErrLeaseLost)
		})
	}
}

func TestResolverGetsWhatItNeedsToAsk(t *testing.T) {
	b := setup(t)
	var got *idem.Record
	store := b.newStore(resolving(func(_ context.Context, r *idem.Record) (idem.Verdict, *idem.Response, error) {
		got = r
		return idem.Found, nil, nil
	}))
	key := b.key("k")
	key.Request = `{"amount":4900}`
	lease, _, err := store.Claim(b.ctx, key)
	if err != nil {
		t.Fatal(err)
	}
	var d downstream
	if _, err := lease.Step(b.ctx, "reserve", d.charge); err != nil {
		t.Fatal(err)
	}
	d.then = errCrash
	_, err = lease.Step(b.ctx, "charge", d.charge)
	wantIs(t, err, errCrash)
	b.age(key, 10*time.Minute)
	if _, err := store.Hold(b.ctx, key, holdMustNotRun(t)); err != nil {
		t.Fatal(err)
	}
	begun := got.Begun()
	if got.Key.Request != key.Request || got.Key.ID != "k" || len(got.Steps) != 2 || len(begun) != 1 || begun[0].Name != "charge" ||
		got.DownstreamKey("charge") != lease.DownstreamKey("charge") {
		t.Errorf("%+v", got)
	}
}

// The displaced holder knows more than whoever asks: its completion stands, whenever it comes, until the fence is raised.
func TestLateCompletionWinsOverTheResolver(t *testing.T) {
	b := setup(t)
	for name, v := range map[string]idem.Verdict{"found": idem.Found, "nothing": idem.Nothing, "pending": idem.Pending} {
		t.Run(name, func(t *testing.T) {
			b := b.on(t)
			var old *idem.Lease
			store := b.newStore(resolving(func(context.Context, *idem.Record) (idem.Verdict, *idem.Response, error) {
				if err := old.Extend(b.ctx); !errors.Is(err, idem.ErrLeaseLost) {
					t.Errorf("a displaced holder extends: %v", err)
				}
				var d downstream
				if _, err := old.Step(b.ctx, "charge", d.charge); !errors.Is(err, idem.ErrLeaseLost) || d.total() != 0 {
					t.Errorf("a displaced holder steps: %v", err)
				}
				if err := old.Complete(b.ctx, &idem.Response{Status: 201, Body: []byte("the holder's")}); err != nil {
					t.Errorf("a displaced holder cannot complete: %v", err)
				}
				return v, &idem.Response{Status: 201, Body: []byte("the resolver's")}, nil
			}))
			old = b.abandonedBy(store, "k")
			resp, err := store.Hold(b.ctx, b.key("k"), holdMustNotRun(t))
			if err != nil || !resp.Replayed || string(resp.Body) != "the holder's" {
				t.Errorf("%+v, %v", resp, err)
			}
		})
	}
}

func TestVerdictOfADisplacedResolverIsNotWritten(t *testing.T) {
	b := setup(t)
	for name, v := range map[string]idem.Verdict{"found": idem.Found, "nothing": idem.Nothing} {
		t.Run(name, func(t *testing.T) {
			b := b.on(t)
			second := b.newStore(resolving(verdict(idem.Found, &idem.Response{Body: []byte("the second's")}, nil)))
			first := b.newStore(resolving(func(context.Context, *idem.Record) (idem.Verdict, *idem.Response, error) {
				b.age(b.key("k"), 10*time.Minute) // it was silent for that long
				if _, err := second.Hold(b.ctx, b.key("k"), holdMustNotRun(t)); err != nil {
					t.Errorf("the second resolver: %v", err)
				}
				return v, &idem.Response{Body: []byte("the first's")}, nil
			}))
			b.abandonedBy(first, "k")
			resp, err := first.Hold(b.ctx, b.key("k"), holdMustNotRun(t))
			if err != nil || !resp.Replayed || string(resp.Body) != "the second's" {
				t.Errorf("%+v, %v", resp, err)
			}
		})
	}
}

func TestOneResolverAtATimeAsks(t *testing.T) {
	b := setup(t)
	var asking, most atomic.Int64
	ask := func(context.Context, *idem.Record) (idem.Verdict, *idem.Response, error) {
		most.Store(max(most.Load(), asking.Add(1)))
		defer asking.Add(-1)
		time.Sleep(20 * time.Millisecond)
		return idem.Pending, nil, nil
	}
	b.abandonedBy(b.newStore(resolving(ask)), "k")
	var callers sync.WaitGroup
	for range 8 {
		store := b.newStore(resolving(ask))
		callers.Go(func() {
			_, err := store.Hold(b.ctx, b.key("k"), holdMustNotRun(t))
			if !errors.Is(err, idem.ErrOutcomeUnknown) && !errors.Is(err, idem.ErrInFlight) {
				t.Errorf("%v", err)
			}
		})
	}
	callers.Wait()
	if most.Load() != 1 {
		t.Errorf("%d asked at once", most.Load())
	}
}

func TestPanicOfAResolverLeavesTheKeyUnknown(t *testing.T) {
	b := setup(t)
	store := b.newStore(resolving(func(context.Context, *idem.Record) (idem.Verdict, *idem.Response, error) { panic("smtp") }))
	b.abandonedBy(store, "k")
	func() {
		defer func() {
			if recover() != "smtp" {
				t.Error("the panic did not go up")
			}
		}()
		_, _ = store.Hold(b.ctx, b.key("k"), holdMustNotRun(t))
	}()
	record, err := store.Lookup(b.ctx, b.key("k"))
	if err != nil || record.State != idem.StateAbandoned {
		t.Errorf("%+v, %v", record, err)
	}
}

// Without a Resolve the work runs again under a raised fence, and asks step by step.
func TestStepsAreAskedOneByOneWithoutAResolver(t *testing.T) {
	b := setup(t)
	store := b.newStore(resolving(nil))
	d := downstream{then: errCrash}
	work := func(ctx context.Context, l *idem.Lease) (*idem.Response, error) {
		out, err := l.Call(ctx, idem.Call{Name: "charge", Do: d.charge, Ask: func(context.Context, string) (idem.Verdict, []byte, error) {
			return idem.Found, []byte("ch_found"), nil
		}})
		if err != nil {
			return nil, err
		}
		mailed, err := l.Step(ctx, "mail", func(context.Context, string) ([]byte, error) { return []byte("mailed"), nil })
		return &idem.Response{Status: 201, Body: append(out, mailed...)}, err
	}
	_, err := store.Hold(b.ctx, b.key("k"), work)
	wantIs(t, err, errCrash)
	_, err = store.Hold(b.ctx, b.key("k"), work)
	wantIs(t, err, idem.ErrInFlight) // Settle has not passed
	b.age(b.key("k"), 10*time.Minute)
	resp, err := store.Hold(b.ctx, b.key("k"), work)
	if err != nil || string(resp.Body) != "ch_foundmailed" || d.total() != 1 {
		t.Errorf("%+v, %v, %d effects", resp, err, d.total())
	}
}

func TestPoliciesThatContradictThemselvesAreRefused(t *testing.T) {
	b := setup(t)
	for name, p := range map[string]idem.Policy{
		"a resolver that is never asked": {Resolve: verdict(idem.Found, nil, nil)},
		"a negative Settle":              {Stale: idem.StaleResolve, Settle: -1},
		"an unknown Stale":               {Stale: 9},
	} {
		if _, err := b.newStore(p).Hold(b.ctx, b.key(name), holdMustNotRun(t)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
