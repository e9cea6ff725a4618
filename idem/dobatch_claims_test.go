package idem_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pgidem/pgidem/idem"
)

// A mismatch, a lease and an abandoned lease are answered from the load, as in Do, and none of the statements runs.
func TestDoBatchAnswersByTheTable(t *testing.T) {
	b := setup(t)
	other := func(key idem.Key) idem.Key {
		key.Fingerprint = idem.FingerprintOf([]byte("$9,000.00"))
		return key
	}
	for name, c := range map[string]struct {
		before func(*bundle, idem.Key)
		key    func(idem.Key) idem.Key
		want   error
	}{
		"another request":       {func(b *bundle, key idem.Key) { b.insertFinished(key, "1") }, other, idem.ErrMismatch},
		"held":                  {func(b *bundle, key idem.Key) { b.claim(b.store, key) }, nil, idem.ErrInFlight},
		"held, another request": {func(b *bundle, key idem.Key) { b.claim(b.store, key) }, other, idem.ErrMismatch},
		"abandoned":             {func(b *bundle, key idem.Key) { b.claim(b.store, key); b.age(key, time.Hour) }, nil, idem.ErrOutcomeUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			b := b.on(t)
			key := b.key("k")
			c.before(b, key)
			before := b.row(key)
			asked := key
			if c.key != nil {
				asked = c.key(key)
			}
			_, err := b.store.DoBatch(b.ctx, asked, charging(name))
			wantIs(t, err, c.want)
			if got := b.row(key); got != before || b.charges(name) != 0 {
				t.Errorf("%d charges; the row was %s and is %s", b.charges(name), before, got)
			}
		})
	}
}

// A key past its retention, and one that was given back, are claimed in a second trip; its retention begins anew.
func TestDoBatchClaimsWhatIsFreeAgain(t *testing.T) {
	b := setup(t)
	for name, before := range map[string]func(*bundle, idem.Key){
		"expired": func(b *bundle, key idem.Key) {
			b.insertFinished(key, "1")
			b.insertStep(key, "old")
			b.age(key, 2*time.Hour)
		},
		"given back": func(b *bundle, key idem.Key) {
			if err := b.claim(b.store, key).Release(b.ctx); err != nil {
				t.Fatal(err)
			}
		},
		"given back with a step, long ago": func(b *bundle, key idem.Key) {
			b.exec(strings.NewReplacer("'t'", "$1", "'e'", "$2", "'k'", "$3", `'\x01'`, "$4::bytea").Replace(keyOf("released", true, none, past)),
				key.Tenant, key.Endpoint, key.ID, []byte(key.Fingerprint))
			b.insertStep(key, "kept")
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := b.on(t)
			key := b.key("k")
			before(b, key)
			first, err := b.store.DoBatch(b.ctx, key, charging(name))
			if err != nil || first.Replayed || first.Status != 201 {
				t.Fatalf("got %+v, %v; want a first answer", first, err)
			}
			again, err := b.store.DoBatch(b.ctx, key, charging(name))
			if err != nil || !again.Replayed || !bytes.Equal(again.Body, first.Body) {
				t.Errorf("got %+v, %v; want a replay of %s", again, err, first.Body)
			}
			if n := b.charges(name); n != 1 {
				t.Errorf("%d charges, want 1", n)
			}
			if n := b.count("SELECT count(*) FROM idem.keys WHERE tenant_id = $1 AND expires_at >= completed_at + interval '1 hour'", key.Tenant); n != 1 {
				t.Error("the answer will be forgotten before its retention")
			}
		})
	}
}

// A statement that runs past its lease keeps its answer for the whole retention all the same.
func TestDoBatchKeepsItsAnswerForTheWholeRetention(t *testing.T) {
	b := setup(t)
	store := b.store.With(idem.Policy{Lease: 50 * time.Millisecond, Retention: time.Hour})
	if _, err := store.DoBatch(b.ctx, b.key("k"), queue("SELECT pg_sleep(0.2)", "SELECT idem.answer(200, '')")); err != nil {
		t.Fatal(err)
	}
	if n := b.count("SELECT count(*) FROM idem.keys WHERE expires_at >= completed_at + interval '1 hour'"); n != 1 {
		t.Error("the answer will be forgotten before its retention")
	}
}

// A call for a key that this very call holds would wait for itself.
func TestDoBatchWithinACallForItsKeyIsInFlight(t *testing.T) {
	b := setup(t)
	_, err := b.store.Do(b.ctx, b.key("k"), func(ctx context.Context, tx pgx.Tx) (*idem.Response, error) {
		wantBounded(t, slack, func() {
			_, err := b.store.With(patient).DoBatch(ctx, b.key("k"), charging("k"))
			wantIs(t, err, idem.ErrInFlight)
		})
		if _, err := b.store.DoBatch(ctx, b.key("another"), charging("another")); err != nil {
			t.Error(err)
		}
		return created(), nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// One effect and one first answer, however many callers and processes.
func TestP1OneEffectInBatches(t *testing.T) {
	b := setup(t)
	const processes, callers, keys = 4, 64, 5
	stores := make([]*idem.Store, processes)
	for i := range stores {
		stores[i] = b.process(idem.Policy{Retention: time.Hour, Wait: 20 * time.Second})
	}
	for _, mode := range []struct {
		name string
		call func(ctx context.Context, s *idem.Store, key idem.Key, i int) (*idem.Response, error)
	}{
		{"DoBatch", func(ctx context.Context, s *idem.Store, key idem.Key, _ int) (*idem.Response, error) {
			return s.DoBatch(ctx, key, charging(key.ID))
		}},
		{"DoBatch beside Do", func(ctx context.Context, s *idem.Store, key idem.Key, i int) (*idem.Response, error) {
			if i/processes%2 == 0 {
				return s.Do(ctx, key, charge(key.ID))
			}
			return s.DoBatch(ctx, key, charging(key.ID))
		}},
		{"DoBatch that fails two times of three", func(ctx context.Context, s *idem.Store, key idem.Key, _ int) (*idem.Response, error) {
			for {
				resp, err := s.DoBatch(ctx, key, func(b *idem.Batch) {
					charging(key.ID)(b)
					b.Queue("SELECT 1 / (random() * 3)::int4 / ($1::int4 - (random() * 2)::int4)", 2)
				})
				if sqlState(err) != "22012" {
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
				storm(callers, func(i int) { answers.add(mode.call(b.ctx, stores[i%processes], b.key(id), i)) })
				answers.wantOneFresh(t)
				if n := b.charges(id); n != 1 {
					t.Errorf("key %s: %d charges, want 1", id, n)
				}
			}
		})
	}
}

// Callers in one process share the first answer in memory, as in Do: a storm costs one connection.
func TestDoBatchQueuesInMemory(t *testing.T) {
	var made trips
	b := setup(t, made.trace, poolOf(4))
	gate := b.begin()
	if _, err := gate.Exec(b.ctx, "LOCK TABLE charges IN ACCESS EXCLUSIVE MODE"); err != nil {
		t.Fatal(err)
	}
	store := b.newStore(patient)
	var answers sum
	var called atomic.Int64
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		storm(64, func(int) {
			answers.add(store.DoBatch(b.ctx, b.key("k"), func(b *idem.Batch) { called.Add(1); charging("k")(b) }))
		})
	}()
	b.eventually(func() bool { return idem.Queued(store, b.key("k")) == 63 }, "nobody queues")
	b.waitBlocked(1)
	before := made.n.Load()
	b.rollback(gate)
	b.receive(ended, "the storm never ended")
	answers.wantOneFresh(t)
	if n := called.Load(); n != 1 {
		t.Errorf("%d callers queued their statements, want the leader alone", n)
	}
	if n := made.n.Load() - before; n > 1 { // the ROLLBACK of the gate
		t.Errorf("%d trips were made after the first batch was sent", n)
	}
}
