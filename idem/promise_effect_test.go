package idem_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pgidem/pgidem/idem"
)

// P1 One effect. For one key, however many callers, processes, retries and crashes, an effect in the same transaction happens
// exactly once.
func TestP1OneEffect(t *testing.T) {
	b := setup(t)
	const processes, callers, keys = 4, 12, 10
	stores := make([]*idem.Store, processes)
	for i := range stores {
		stores[i] = b.process(idem.Policy{Retention: time.Hour, Wait: 10 * time.Second, Stale: idem.StaleRerun})
	}
	doTx := func(ctx context.Context, s *idem.Store, key idem.Key, fn idem.TxWork) (*idem.Response, error) {
		var resp *idem.Response
		err := pgx.BeginFunc(ctx, s.Pool, func(tx pgx.Tx) (err error) {
			resp, err = s.DoTx(ctx, tx, key, fn)
			return err
		})
		return resp, err
	}
	for _, mode := range []struct {
		name string
		call func(ctx context.Context, s *idem.Store, key idem.Key) (*idem.Response, error)
	}{
		{"Do", func(ctx context.Context, s *idem.Store, key idem.Key) (*idem.Response, error) {
			return s.Do(ctx, key, charge(key.ID))
		}},
		{"DoTx", func(ctx context.Context, s *idem.Store, key idem.Key) (*idem.Response, error) {
			return doTx(ctx, s, key, charge(key.ID))
		}},
		{"Do beside DoTx", func(ctx context.Context, s *idem.Store, key idem.Key) (*idem.Response, error) {
			if rand.N(2) == 0 {
				return s.Do(ctx, key, charge(key.ID))
			}
			return doTx(ctx, s, key, charge(key.ID))
		}},
		{"Hold", func(ctx context.Context, s *idem.Store, key idem.Key) (*idem.Response, error) {
			return s.Hold(ctx, key, func(ctx context.Context, l *idem.Lease) (*idem.Response, error) {
				if _, err := s.Pool.Exec(ctx, "INSERT INTO charges (key) VALUES ($1)", key.ID); err != nil {
					return nil, err
				}
				return created(), nil
			})
		}},
		{"Do with crashes", func(ctx context.Context, s *idem.Store, key idem.Key) (*idem.Response, error) {
			for try := 0; ; try++ {
				resp, err := s.Do(ctx, key, crashing(s, key.ID))
				if err == nil || try == 1000 {
					return resp, err
				}
			}
		}},
	} {
		t.Run(mode.name, func(t *testing.T) {
			b := b.on(t)
			for k := range keys {
				id := fmt.Sprint(mode.name, k)
				var answers sum
				storm(callers, func(i int) { answers.add(mode.call(b.ctx, stores[i%processes], b.key(id))) })
				answers.wantOneFresh(t)
				if n := b.charges(id); n != 1 {
					t.Errorf("key %s: %d charges, want 1", id, n)
				}
			}
		})
	}
}

// crashing charges, and in two cases of three dies before its answer is recorded.
func crashing(s *idem.Store, id string) idem.TxWork {
	return func(ctx context.Context, tx pgx.Tx) (*idem.Response, error) {
		resp, err := charge(id)(ctx, tx)
		if err != nil {
			return nil, err
		}
		switch rand.N(3) {
		case 0:
			return nil, errors.New("the work fails")
		case 1:
			_, err := s.Pool.Exec(context.WithoutCancel(ctx), "SELECT pg_terminate_backend($1)", tx.Conn().PgConn().PID())
			return resp, err
		}
		return resp, nil
	}
}

// An effect elsewhere is asked for under one downstream key, whoever asks: a downstream that refuses a repeated key charges once.
func TestP1OneDownstreamKey(t *testing.T) {
	b := setup(t)
	policy := idem.Policy{Retention: time.Hour, Stale: idem.StaleRerun}
	key := b.key("k")
	asked := map[string]bool{}
	for range 5 {
		lease, _, err := b.newStore(policy).Claim(b.ctx, key)
		if err != nil {
			t.Fatal(err)
		}
		asked[lease.DownstreamKey("capture")] = true
		b.age(key, 2*time.Minute) // the holder crashes
	}
	if len(asked) != 1 {
		t.Errorf("five attempts asked under %d downstream keys, want 1: %v", len(asked), asked)
	}
}

// Under StaleRefuse nothing runs twice, whatever the downstream does.
func TestP1StaleRefuseNeverRunsASecondTime(t *testing.T) {
	b := setup(t)
	key := b.key("k")
	if _, _, err := b.store.Claim(b.ctx, key); err != nil {
		t.Fatal(err)
	}
	b.age(key, 2*time.Minute)
	_, err := b.newStore(idem.Policy{Retention: time.Hour}).Hold(b.ctx, key, holdMustNotRun(t))
	wantIs(t, err, idem.ErrOutcomeUnknown)
	if _, ok := idem.RetryAfter(err); ok {
		t.Error("coming back does not help, and RetryAfter says so")
	}
}

func holdMustNotRun(t *testing.T) idem.Work {
	return func(context.Context, *idem.Lease) (*idem.Response, error) {
		t.Error("the work ran")
		return nil, errors.New("the work ran")
	}
}
