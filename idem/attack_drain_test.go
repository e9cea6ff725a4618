package idem_test

import (
	"context"
	"testing"
	"time"

	"github.com/pgidem/pgidem/idem"
)

// drainAtOnce drains s without any grace.
func (b *bundle) drainAtOnce(s *idem.Store) {
	b.t.Helper()
	none, cancel := context.WithCancel(b.ctx)
	cancel()
	if err := s.Drain(none); err == nil {
		b.t.Error("Drain does not say that work was cut off")
	}
}

// A resolver is work too: when Drain's grace is over its context ends, and its key is the next process's.
func TestDrainEndsAResolver(t *testing.T) {
	b := setup(t)
	asking, ended := make(chan struct{}), make(chan error, 1)
	store := b.newStore(resolving(func(ctx context.Context, _ *idem.Record) (idem.Verdict, *idem.Response, error) {
		close(asking)
		<-ctx.Done()
		return idem.Pending, nil, context.Cause(ctx)
	}))
	b.abandonedBy(store, "k")
	go func() {
		_, err := store.Hold(b.ctx, b.key("k"), holdMustNotRun(t))
		ended <- err
	}()
	<-asking
	b.drainAtOnce(store)
	select {
	case err := <-ended:
		wantIs(t, err, idem.ErrUnavailable) // for the client is to come back to another process
	case <-time.After(10 * time.Second):
		t.Fatal("the resolver was not told")
	}
	if record, err := store.Lookup(b.ctx, b.key("k")); err != nil || record.State != idem.StateAbandoned {
		t.Errorf("%+v, %v", record, err)
	}
}

// Work does not begin in a process that is going down, whenever between claim and work that was decided.
func TestDrainWhileAResolverAsksStartsNoWork(t *testing.T) {
	b := setup(t)
	var store *idem.Store
	store = b.newStore(resolving(func(context.Context, *idem.Record) (idem.Verdict, *idem.Response, error) {
		b.drainAtOnce(store)
		return idem.Nothing, nil, nil
	}))
	b.abandonedBy(store, "k")
	_, err := store.Hold(b.ctx, b.key("k"), holdMustNotRun(t))
	wantIs(t, err, idem.ErrUnavailable)
	next := b.newStore(resolving(nil))
	if _, err := next.Hold(b.ctx, b.key("k"), func(context.Context, *idem.Lease) (*idem.Response, error) { return created(), nil }); err != nil {
		t.Errorf("nothing had happened, and the next process does not go on at once: %v", err)
	}
}
