package main

import (
	"context"
	"errors"
	"testing"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/internal/testdb"
)

// A service is a user of the library on the database that the CLI works on.
type service struct {
	db    *testDatabase
	store *idem.Store
}

// charge is the key that it works on.
var charge = idem.Key{Tenant: "acme", Endpoint: "POST /charges", ID: "k-1", Fingerprint: idem.FingerprintOf([]byte("4900"))}

func newService(t *testing.T, db *testDatabase) *service {
	t.Helper()
	s := &service{db, &idem.Store{Pool: testdb.Pool(t, db.url), Policy: idem.Policy{Wait: -1}}}
	t.Cleanup(s.store.Close)
	return s
}

// claim takes a key for a holder.
func (s *service) claim(t *testing.T, key idem.Key) *idem.Lease {
	t.Helper()
	lease, _, err := s.store.Claim(t.Context(), key)
	if err != nil || lease == nil {
		t.Fatalf("the key is not free: %v", err)
	}
	return lease
}

// lapse ends all leases: their holders are silent, and do not know.
func (s *service) lapse(t *testing.T) {
	t.Helper()
	s.db.exec(t, "UPDATE idem.keys SET locked_until = now() - interval '1 hour' WHERE status = 'in_flight'")
}

// lost is a holder of charge that ended a step and began another, and was given up.
func (s *service) lost(t *testing.T) *idem.Lease {
	t.Helper()
	lease := s.claim(t, charge)
	if _, err := lease.Step(t.Context(), "reserve", func(context.Context, string) ([]byte, error) { return []byte("r-1"), nil }); err != nil {
		t.Fatal(err)
	}
	died := errors.New("died")
	if _, err := lease.Step(t.Context(), "charge", func(context.Context, string) ([]byte, error) { return nil, died }); !errors.Is(err, died) {
		t.Fatal(err)
	}
	s.lapse(t)
	return lease
}

// replay is what a retry of key gets without running.
func (s *service) replay(t *testing.T, key idem.Key) *idem.Response {
	t.Helper()
	lease, resp, err := s.store.Claim(t.Context(), key)
	if err != nil || lease != nil || !resp.Replayed {
		t.Fatalf("a retry gets no recorded answer: %v", err)
	}
	return resp
}

// powerless sees that a holder that was given up can change nothing any more.
func powerless(t *testing.T, s *service, holder *idem.Lease) {
	t.Helper()
	before := s.db.rows(t)
	ctx := t.Context()
	step := func(context.Context, string) ([]byte, error) { t.Error("a lost holder's step runs"); return nil, nil }
	_, stepErr := holder.Step(ctx, "receipt", step)
	for did, err := range map[string]error{
		"begins a step": stepErr, "extends": holder.Extend(ctx), "completes": holder.Complete(ctx, &idem.Response{Status: 201, Body: []byte("late")}),
	} {
		if !errors.Is(err, idem.ErrLeaseLost) {
			t.Errorf("the old holder %s: %v", did, err)
		}
	}
	if err := holder.Abandon(ctx); err != nil {
		t.Error(err)
	}
	if s.db.rows(t) != before {
		t.Error("the old holder changed something")
	}
}
