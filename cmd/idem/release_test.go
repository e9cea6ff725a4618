package main

import (
	"context"
	"testing"

	"github.com/pgidem/pgidem/idem"
)

func TestReleaseKeepsRecordedStepsAndForgetsBegunOnes(t *testing.T) {
	t.Parallel()
	s := newService(t, migrated(t))
	holder := s.lost(t)
	operate(t, s.db, "release", "k-1").want(t, 0, "released k-1")
	record, err := s.store.Lookup(t.Context(), charge)
	if err != nil {
		t.Fatal(err)
	}
	if record.State != idem.StateReleased || record.Fence <= holder.Fence() || record.Response != nil {
		t.Errorf("the key is %s, its fence %d after %d", record.State, record.Fence, holder.Fence())
	}
	if len(record.Steps) != 1 || record.Steps[0].Name != "reserve" || string(record.Steps[0].Output) != "r-1" {
		t.Errorf("the steps are %v", record.Steps)
	}
	powerless(t, s, holder)

	var ran []string
	resp, err := s.store.Hold(t.Context(), charge, func(ctx context.Context, l *idem.Lease) (*idem.Response, error) {
		for _, name := range []string{"reserve", "charge"} {
			if _, err := l.Step(ctx, name, func(context.Context, string) ([]byte, error) {
				ran = append(ran, name)
				return nil, nil
			}); err != nil {
				return nil, err
			}
		}
		return &idem.Response{Status: 201}, nil
	})
	if err != nil || resp.Status != 201 || resp.Replayed {
		t.Errorf("the retry gets %v, %v", resp, err)
	}
	if len(ran) != 1 || ran[0] != "charge" {
		t.Errorf("the retry runs %q, want the step alone that was not recorded", ran)
	}
}

func TestReleaseOfAKeyWithoutRecordedStepsStartsANewLife(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	db.insert(t, abandoned("k-1"))
	db.step(t, "k-1", 1, "charge", "")
	operate(t, db, "release", "k-1").want(t, 0)
	if got := db.text(t, "SELECT count(*) FROM idem.steps"); got != "0" {
		t.Errorf("%s steps are left", got)
	}
	if got := db.text(t, "SELECT leased FROM idem.keys"); got != "false" {
		t.Error("the key stays among those that need a look")
	}
	other := charge
	other.Fingerprint = idem.AnyRequest
	if lease := newService(t, db).claim(t, other); lease.Attempt() != 1 {
		t.Errorf("the next claim is attempt %d", lease.Attempt())
	}
}
