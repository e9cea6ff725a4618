package idem_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pgidem/pgidem/idem"
)

func TestRecordedStepsAreReplayed(t *testing.T) {
	b := setup(t)
	store := b.newStore(idem.Policy{Stale: idem.StaleRerun})
	charged, noted := 0, 0
	fail := errors.New("smtp")
	work := func(then error) idem.Work {
		return func(ctx context.Context, l *idem.Lease) (*idem.Response, error) {
			out, err := l.Step(ctx, "charge", func(_ context.Context, key string) ([]byte, error) {
				charged++
				if key != l.DownstreamKey("charge") {
					t.Error("another downstream key")
				}
				return []byte("ch_1"), nil
			})
			if err != nil {
				return nil, err
			}
			_, err = l.StepTx(ctx, "note", func(ctx context.Context, tx pgx.Tx) ([]byte, error) {
				noted++
				_, err := tx.Exec(ctx, "INSERT INTO charges (key) VALUES ('k')")
				return nil, err
			})
			if err != nil {
				return nil, err
			}
			if then != nil {
				return nil, then
			}
			return &idem.Response{Status: 201, Body: out}, nil
		}
	}
	if _, err := store.Hold(b.ctx, b.key("k"), work(fail)); !errors.Is(err, fail) {
		t.Fatal(err)
	}
	resp, err := store.Hold(b.ctx, b.key("k"), work(nil))
	if err != nil || string(resp.Body) != "ch_1" || charged != 1 || noted != 1 || b.charges("k") != 1 {
		t.Fatalf("%+v %v: charged %d, noted %d, rows %d", resp, err, charged, noted, b.charges("k"))
	}
}

func TestResolverDecides(t *testing.T) {
	b := setup(t)
	verdict := idem.Pending
	policy := idem.Policy{Stale: idem.StaleResolve, Lease: time.Minute, Settle: time.Minute, Wait: -1}
	policy.Resolve = func(_ context.Context, r *idem.Record) (idem.Verdict, *idem.Response, error) {
		return verdict, &idem.Response{Status: 201, Body: []byte(r.DownstreamKey("charge"))}, nil
	}
	store := b.newStore(policy)
	want := ""
	boom := errors.New("boom")
	key := b.key("k")
	_, err := store.Hold(b.ctx, key, func(_ context.Context, l *idem.Lease) (*idem.Response, error) {
		want = l.DownstreamKey("charge")
		return nil, boom
	})
	if !errors.Is(err, boom) {
		t.Fatal(err)
	}
	_, err = store.Hold(b.ctx, key, nil)
	if d, ok := idem.RetryAfter(err); !errors.Is(err, idem.ErrInFlight) || !ok || d < 50*time.Second {
		t.Fatal(err, d)
	}
	b.age(key, 2*time.Minute)
	if _, err = store.Hold(b.ctx, key, nil); !errors.Is(err, idem.ErrOutcomeUnknown) {
		t.Fatal(err)
	}
	b.age(key, 2*time.Minute)
	verdict = idem.Found
	resp, err := store.Hold(b.ctx, key, nil)
	if err != nil || string(resp.Body) != want || resp.Replayed {
		t.Fatal(resp, err)
	}
	resp, err = store.Hold(b.ctx, key, nil)
	if err != nil || string(resp.Body) != want || !resp.Replayed {
		t.Fatal(resp, err)
	}
	key = b.key("k2")
	_, err = store.Hold(b.ctx, key, func(_ context.Context, l *idem.Lease) (*idem.Response, error) { return nil, boom })
	if !errors.Is(err, boom) {
		t.Fatal(err)
	}
	b.age(key, 2*time.Minute)
	verdict = idem.Nothing
	resp, err = store.Hold(b.ctx, key, func(_ context.Context, l *idem.Lease) (*idem.Response, error) {
		return &idem.Response{Status: 202}, nil
	})
	if err != nil || resp.Status != 202 {
		t.Fatal(resp, err)
	}
}
