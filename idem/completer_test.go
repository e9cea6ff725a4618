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

// named is a policy whose keys a completer can finish.
func named(stale idem.StalePolicy) idem.Policy {
	return idem.Policy{Stale: stale, Lease: time.Minute, Settle: time.Minute, Wait: -1, Handler: "charge"}
}

// leave is a key whose holder died after its first step, with the request that it was given.
func (b *bundle) leave(s *idem.Store, id string, d *downstream) idem.Key {
	b.t.Helper()
	key := b.key(id)
	key.Request = "request of " + id
	lease, _, err := s.Claim(b.ctx, key)
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := lease.Step(b.ctx, "charge", d.charge); err != nil {
		b.t.Fatal(err)
	}
	b.age(key, time.Hour)
	return key
}

func TestCompleterFinishesWhatWasLeft(t *testing.T) {
	b := setup(t)
	store := b.newStore(named(idem.StaleRerun))
	var d downstream
	key := b.leave(store, "k", &d)
	other := key
	other.ID = "of another handler"
	unknown := named(idem.StaleRerun)
	unknown.Handler = "refund"
	b.leave(b.newStore(unknown), other.ID, &d)
	held := b.held(store, "held")
	effects := d.total()

	var requests []string
	c := &idem.Completer{Store: store, Handlers: map[string]idem.Work{"charge": func(ctx context.Context, l *idem.Lease) (*idem.Response, error) {
		requests = append(requests, string(l.Request()))
		out, err := l.Step(ctx, "charge", d.charge)
		return &idem.Response{Status: 201, Body: out}, err
	}}}
	stats, err := c.Complete(b.ctx)
	if err != nil || stats != (idem.CompleterStats{Completed: 1}) {
		t.Fatalf("%+v, %v", stats, err)
	}
	if len(requests) != 1 || requests[0] != "request of k" || d.total() != effects {
		t.Errorf("requests %q, %d effects more", requests, d.total()-effects)
	}
	resp, err := store.Hold(b.ctx, key, holdMustNotRun(t))
	if err != nil || !resp.Replayed || string(resp.Body) != "ch_1" {
		t.Errorf("%+v, %v", resp, err)
	}
	if err := held.Extend(b.ctx); err != nil {
		t.Errorf("a held key was touched: %v", err)
	}
}

func TestCompleterResumesKeysGivenBackWithSteps(t *testing.T) {
	b := setup(t)
	store := b.newStore(named(idem.StaleRerun))
	key, fail := b.key("k"), true
	work := func(ctx context.Context, l *idem.Lease) (*idem.Response, error) {
		if _, err := l.Step(ctx, "a", func(context.Context, string) ([]byte, error) { return nil, nil }); err != nil {
			return nil, err
		}
		if fail {
			return nil, idem.Transient(errCrash)
		}
		return created(), nil
	}
	_, err := store.Hold(b.ctx, key, work)
	wantIs(t, err, errCrash)
	fail = false
	b.age(key, time.Hour)
	stats, err := (&idem.Completer{Store: store, Handlers: map[string]idem.Work{"charge": work}}).Complete(b.ctx)
	if err != nil || stats.Completed != 1 {
		t.Errorf("%+v, %v", stats, err)
	}
}

// A key under ScopeTenant is stored with its endpoint in the fingerprint.
func TestCompleterFinishesKeysOfTheWholeTenant(t *testing.T) {
	b := setup(t)
	policy := named(idem.StaleRerun)
	policy.Scope = idem.ScopeTenant
	store := b.newStore(policy)
	var d downstream
	key := b.leaveScoped(store, "k")
	stats, err := (&idem.Completer{Store: store, Handlers: map[string]idem.Work{
		"charge": func(context.Context, *idem.Lease) (*idem.Response, error) { return created(), nil },
	}}).Complete(b.ctx)
	if err != nil || stats.Completed != 1 || d.total() != 0 {
		t.Fatalf("%+v, %v", stats, err)
	}
	if resp, err := store.Hold(b.ctx, key, holdMustNotRun(t)); err != nil || !resp.Replayed {
		t.Errorf("%+v, %v", resp, err)
	}
}

func (b *bundle) leaveScoped(s *idem.Store, id string) idem.Key {
	b.t.Helper()
	key := b.key(id)
	if _, _, err := s.Claim(b.ctx, key); err != nil {
		b.t.Fatal(err)
	}
	b.exec("UPDATE idem.keys SET locked_until = locked_until - interval '1 hour' WHERE tenant_id = $1 AND key = $2", key.Tenant, id)
	return key
}

func TestCompleterRestsAndParks(t *testing.T) {
	b := setup(t)
	store := b.newStore(named(idem.StaleRerun))
	var d downstream
	key, runs := b.leave(store, "k", &d), 0
	c := &idem.Completer{Store: store, Attempts: 3, Backoff: time.Minute, Handlers: map[string]idem.Work{
		"charge": func(context.Context, *idem.Lease) (*idem.Response, error) { runs++; return nil, errCrash },
	}}
	pass := func(want idem.CompleterStats) {
		t.Helper()
		if stats, err := c.Complete(b.ctx); err != nil || stats != want {
			t.Fatalf("%+v, %v; want %+v", stats, err, want)
		}
	}
	failed := idem.CompleterStats{Pending: 1, Failed: 1}
	pass(failed)                // attempt 2
	pass(idem.CompleterStats{}) // it rests
	b.age(key, time.Hour)
	failed.Parked = 1
	pass(failed) // attempt 3, the last
	b.age(key, 24*time.Hour)
	pass(idem.CompleterStats{Parked: 1})
	if runs != 2 {
		t.Errorf("%d runs", runs)
	}
	_, err := store.Hold(b.ctx, key, func(context.Context, *idem.Lease) (*idem.Response, error) { return created(), nil })
	if err != nil {
		t.Errorf("a client cannot finish a parked key: %v", err)
	}
}

func TestTwoCompletersNeverWorkOnOneKey(t *testing.T) {
	b := setup(t)
	store := b.newStore(named(idem.StaleRerun))
	var d downstream
	const keys = 20
	for i := range keys {
		b.leave(store, string(rune('a'+i)), &d)
	}
	var running sync.Map
	var runs atomic.Int64
	work := func(_ context.Context, l *idem.Lease) (*idem.Response, error) {
		if _, twice := running.LoadOrStore(l.Key().ID, true); twice {
			t.Errorf("%s is worked on twice", l.Key().ID)
		}
		runs.Add(1)
		time.Sleep(5 * time.Millisecond)
		return created(), nil
	}
	var all sync.WaitGroup
	for range 4 {
		c := &idem.Completer{Store: b.newStore(named(idem.StaleRerun)), Handlers: map[string]idem.Work{"charge": work}}
		all.Go(func() {
			if _, err := c.Complete(b.ctx); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if runs.Load() != keys {
		t.Errorf("%d runs for %d keys", runs.Load(), keys)
	}
}

func TestCompleterAsksUnderStaleResolve(t *testing.T) {
	b := setup(t)
	policy := named(idem.StaleResolve)
	policy.Resolve = verdict(idem.Found, &idem.Response{Status: 201, Body: []byte("found")}, nil)
	store := b.newStore(policy)
	key := b.key("k")
	if _, _, err := store.Claim(b.ctx, key); err != nil {
		t.Fatal(err)
	}
	b.age(key, time.Hour)
	stats, err := (&idem.Completer{Store: store, Handlers: map[string]idem.Work{"charge": holdMustNotRun(t)}}).Complete(b.ctx)
	if err != nil || stats.Completed != 1 {
		t.Errorf("%+v, %v", stats, err)
	}
}

func TestCompleterRefusesWhatItCannotDo(t *testing.T) {
	b := setup(t)
	work := map[string]idem.Work{"charge": holdMustNotRun(t)}
	for name, c := range map[string]*idem.Completer{
		"no store":          {Handlers: work},
		"no handlers":       {Store: b.newStore(named(idem.StaleRerun))},
		"StaleRefuse":       {Store: b.newStore(named(idem.StaleRefuse)), Handlers: work},
		"an impossible one": {Store: b.newStore(idem.Policy{Stale: idem.StaleRerun, Lease: -1}), Handlers: work},
	} {
		if _, err := c.Complete(b.ctx); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestCompleterRunsUntilItsContextEnds(t *testing.T) {
	b := setup(t)
	store := b.newStore(named(idem.StaleRerun))
	var d downstream
	key := b.leave(store, "k", &d)
	ctx, cancel := context.WithCancel(b.ctx)
	ended := make(chan error, 1)
	go func() {
		ended <- (&idem.Completer{Store: store, Every: 10 * time.Millisecond, Handlers: map[string]idem.Work{
			"charge": func(context.Context, *idem.Lease) (*idem.Response, error) { return created(), nil },
		}}).Run(ctx)
	}()
	b.eventually(func() bool {
		record, err := store.Lookup(b.ctx, key)
		return err == nil && record.State == idem.StateCommitted
	}, "the key is not finished")
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestDrainHandsRunningWorkOver(t *testing.T) {
	b := setup(t)
	policy := idem.Policy{Stale: idem.StaleRerun, Lease: time.Minute, Wait: -1}
	store, next := b.newStore(policy), b.newStore(policy)
	started, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		_, err := store.Hold(b.ctx, b.key("k"), func(ctx context.Context, _ *idem.Lease) (*idem.Response, error) {
			close(started)
			<-ctx.Done()
			return created(), context.Cause(ctx)
		})
		ended <- err
	}()
	<-started
	grace, cancel := context.WithTimeout(b.ctx, 50*time.Millisecond)
	defer cancel()
	if err := store.Drain(grace); err == nil {
		t.Error("Drain does not say that work was cut off")
	}
	if err := <-ended; err == nil {
		t.Error("work that was cut off succeeded")
	}
	_, err := store.Hold(b.ctx, b.key("other"), holdMustNotRun(t))
	wantIs(t, err, idem.ErrUnavailable)
	if after, ok := idem.RetryAfter(err); !ok || after <= 0 {
		t.Error("the client is not told to come back")
	}
	_, err = store.With(policy).Do(b.ctx, b.key("other"), mustNotRun(t))
	wantIs(t, err, idem.ErrUnavailable)
	if _, err := next.Hold(b.ctx, b.key("k"), func(context.Context, *idem.Lease) (*idem.Response, error) { return created(), nil }); err != nil {
		t.Errorf("the next process does not go on at once: %v", err)
	}
}

// Work that does not listen loses its lease all the same, and what it does afterwards changes nothing.
func TestDrainTakesTheLeaseOfWorkThatDoesNotListen(t *testing.T) {
	b := setup(t)
	policy := idem.Policy{Stale: idem.StaleRerun, Lease: time.Minute, Wait: -1}
	store, next := b.newStore(policy), b.newStore(policy)
	started, goOn, ended := make(chan struct{}), make(chan struct{}), make(chan *idem.Response, 1)
	go func() {
		resp, _ := store.Hold(b.ctx, b.key("k"), func(context.Context, *idem.Lease) (*idem.Response, error) {
			close(started)
			<-goOn
			return &idem.Response{Body: []byte("too late")}, nil
		})
		ended <- resp
	}()
	<-started
	grace, cancel := context.WithTimeout(b.ctx, 50*time.Millisecond)
	defer cancel()
	if err := store.Drain(grace); err == nil {
		t.Error("Drain does not say that work was cut off")
	}
	resp, err := next.Hold(b.ctx, b.key("k"), func(context.Context, *idem.Lease) (*idem.Response, error) { return created(), nil })
	if err != nil || resp.Replayed {
		t.Errorf("the next process does not go on at once: %+v, %v", resp, err)
	}
	close(goOn)
	if late := <-ended; late == nil || string(late.Body) != string(resp.Body) || !late.Replayed {
		t.Errorf("work that was cut off is answered with %+v, want a replay of the next process's", late)
	}
	again, err := next.Hold(b.ctx, b.key("k"), holdMustNotRun(t))
	if err != nil || string(again.Body) != string(created().Body) {
		t.Errorf("%+v, %v", again, err)
	}
}

func TestDrainWaitsForWorkThatEnds(t *testing.T) {
	b := setup(t)
	store := b.newStore(idem.Policy{Wait: -1})
	started, goOn := make(chan struct{}), make(chan struct{})
	var held error
	var work sync.WaitGroup
	work.Go(func() {
		_, held = store.Hold(b.ctx, b.key("k"), func(context.Context, *idem.Lease) (*idem.Response, error) {
			close(started)
			<-goOn
			return created(), nil
		})
	})
	<-started
	drained := make(chan error, 1)
	go func() { drained <- store.Drain(b.ctx) }()
	b.eventually(func() bool {
		_, err := store.Hold(b.ctx, b.key("other"), func(context.Context, *idem.Lease) (*idem.Response, error) { return nil, nil })
		return errors.Is(err, idem.ErrUnavailable)
	}, "a draining store takes keys")
	close(goOn)
	if err := <-drained; err != nil {
		t.Error(err)
	}
	work.Wait()
	if held != nil {
		t.Error(held)
	}
	if err := store.Drain(b.ctx); err != nil { // again
		t.Error(err)
	}
}
