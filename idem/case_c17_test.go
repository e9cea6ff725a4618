package idem_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/pgidem/pgidem/idem"
)

// C17: an event is done when its work is done, not when it was seen. The first delivery fails, the second does the work, the third
// is answered without it.
func TestC17EventIsDoneWhenItsWorkIs(t *testing.T) {
	b := setup(t)
	for name, c := range map[string]struct {
		policy idem.Policy
		first  func(b *bundle, s *idem.Store, key idem.Key)
	}{
		"the work failed before any effect": {idem.Policy{Wait: -1}, func(b *bundle, s *idem.Store, key idem.Key) {
			_, err := s.Hold(b.ctx, key, func(context.Context, *idem.Lease) (*idem.Response, error) { return nil, idem.Transient(errCrash) })
			wantIs(t, err, errCrash)
		}},
		"the work failed, and its downstream refuses a repeat": {rerun, func(b *bundle, s *idem.Store, key idem.Key) {
			_, err := s.Hold(b.ctx, key, func(context.Context, *idem.Lease) (*idem.Response, error) { return nil, errCrash })
			wantIs(t, err, errCrash)
		}},
		"the process died": {rerun, func(b *bundle, s *idem.Store, key idem.Key) {
			b.held(s, key.ID)
			_, err := s.Hold(b.ctx, key, holdMustNotRun(t)) // a redelivery while nobody knows
			wantIs(t, err, idem.ErrInFlight)
			b.age(key, 2*rerun.Lease)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			b := b.on(t)
			c.policy.Wait = -1
			store, key, runs := b.newStore(c.policy), b.key("evt_1"), 0
			c.first(b, store, key)
			deliver := func() (*idem.Response, error) {
				return store.Hold(b.ctx, key, func(context.Context, *idem.Lease) (*idem.Response, error) {
					runs++
					return &idem.Response{Status: 200}, nil
				})
			}
			if resp, err := deliver(); err != nil || resp.Replayed || runs != 1 {
				t.Errorf("the second delivery: %+v, %v, %d runs", resp, err, runs)
			}
			if resp, err := deliver(); err != nil || !resp.Replayed || runs != 1 {
				t.Errorf("the third delivery: %+v, %v, %d runs", resp, err, runs)
			}
		})
	}
}

// A deliverer that comes while the first delivery is worked on is told to come back, with any policy: 200 would end the retries
// of an event that may yet fail.
func TestC17DeliveryInFlightIsNotDone(t *testing.T) {
	b := setup(t)
	for _, stale := range []idem.StalePolicy{idem.StaleRefuse, idem.StaleRerun, idem.StaleResolve} {
		store := b.newStore(idem.Policy{Stale: stale, Wait: -1})
		key := b.key("evt_" + string(rune('1'+stale)))
		b.held(store, key.ID)
		resp, err := store.Hold(b.ctx, key, holdMustNotRun(t))
		if after, ok := idem.RetryAfter(err); resp != nil || !errors.Is(err, idem.ErrInFlight) || !ok || after > 90*time.Second {
			t.Errorf("%+v, %v", resp, err)
		}
	}
}
