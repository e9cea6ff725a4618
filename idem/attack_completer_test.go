package idem_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pgidem/pgidem/idem"
)

// A pass in which no key could be claimed has done nothing: looking again at once would find the same keys.
func TestCompleterOfADrainedStoreRests(t *testing.T) {
	b := setup(t)
	var claims atomic.Int64
	store := b.newStore(named(idem.StaleRerun))
	store.Observe = func(_ context.Context, e idem.Event) {
		if e.Op == "hold" {
			claims.Add(1)
		}
	}
	var d downstream
	b.leave(store, "a", &d)
	b.leave(store, "b", &d)
	if err := store.Drain(b.ctx); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(b.ctx, 300*time.Millisecond)
	defer cancel()
	c := &idem.Completer{Store: store, Batch: 2, Every: time.Minute, Handlers: map[string]idem.Work{"charge": holdMustNotRun(t)}}
	if err := c.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if n := claims.Load(); n > 2 {
		t.Errorf("%d claims in 300 ms, of a pass every minute", n)
	}
}
