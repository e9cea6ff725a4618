package design

import (
	"fmt"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/internal/processor"
	"github.com/pgidem/pgidem/lab/redis"
)

// bench is a database with the lab's tables, and a card processor before it.
type bench struct {
	pool *pgxpool.Pool
	card *processor.Processor
	url  string
}

func setupBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{pool: setup(t)}
	if err := ResetClaims(t.Context(), b.pool); err != nil {
		t.Fatal(err)
	}
	if err := processor.Install(t.Context(), b.pool); err != nil {
		t.Fatal(err)
	}
	b.card = &processor.Processor{Pool: b.pool}
	server := httptest.NewServer(b.card)
	t.Cleanup(server.Close)
	b.url = server.URL
	return b
}

func (b *bench) store(t *testing.T, p idem.Policy) *idem.Store {
	p.Lease, p.Settle, p.Wait = 300*time.Millisecond, time.Millisecond, -1
	s := &idem.Store{Pool: b.pool, Policy: p}
	t.Cleanup(s.Close)
	return s
}

// charges counts what was taken, here and at the processor.
func (b *bench) charges(t *testing.T) int {
	t.Helper()
	stats, err := b.card.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return charges(t, b.pool) + int(stats.Charges)
}

// crash pays and dies at a point, as far as a goroutine can.
func crash(t *testing.T, build func(At) Design, p Payment, at Point) {
	t.Helper()
	d := build(func(p Point) {
		if p == at {
			panic(p)
		}
	})
	var err error
	func() {
		defer func() {
			if recover() == nil {
				err = fmt.Errorf("it does not pass the point %q: %w", at, err)
			} else {
				err = nil
			}
		}()
		_, err = d.Pay(t.Context(), p)
	}()
	if err != nil {
		t.Fatal(err)
	}
}

// until pays until the payment is answered.
func until(t *testing.T, d Design, p Payment) Outcome {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
		o, err := d.Pay(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		if o.Kind != InFlight {
			return o
		}
		if time.Now().After(deadline) {
			t.Fatal("it stays in flight")
		}
	}
}

// keyed is a payment under a key of its own.
func keyed(key string) Payment {
	p := payment
	p.Key = key
	return p
}

func TestCrashBetweenChargeAndMark(t *testing.T) {
	b := setupBench(t)
	server, err := redis.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	client := server.Client()
	t.Cleanup(func() { _ = client.Close() })
	claim := func(at At) Design {
		return Claim{Pool: b.pool, Card: NewCard(b.url, at), Stale: time.Millisecond, At: at}
	}
	transaction := func(at At) Design { return Transaction{Pool: b.pool, Card: NewCard(b.url, at), At: at} }
	hold := func(p idem.Policy) func(At) Design {
		return func(at At) Design {
			card := NewCard(b.url, at)
			if p.Stale == idem.StaleResolve {
				p.Resolve = card.Resolve
			}
			return HoldOutside{Store: b.store(t, p), Card: card, At: at}
		}
	}
	steps := func(at At) Design {
		return Steps{Store: b.store(t, idem.Policy{Stale: idem.StaleRerun}), Card: NewCard(b.url, at), At: at}
	}
	for i, c := range []struct {
		claim   string
		build   func(At) Design
		at      Point
		repeat  processor.Repeat
		charges int
	}{
		{"a claim that is taken over charges again", claim, Taken, processor.RepeatCharge, 2},
		{"unless the processor refuses", claim, Taken, processor.RepeatReplay, 1},
		{"a transaction undoes what it wrote", func(at At) Design { return Transaction{Pool: b.pool, At: at} }, Taken, processor.RepeatReplay, 1},
		{"and no call outside", transaction, Taken, processor.RepeatCharge, 2},
		{"unless the processor refuses", transaction, Taken, processor.RepeatReplay, 1},
		{"a lock that expires is taken again", func(at At) Design {
			return RedisLock{Client: client, Card: NewCard(b.url, at), Stale: time.Millisecond, At: at}
		}, Taken, processor.RepeatCharge, 2},
		{"Do undoes what it wrote", func(at At) Design { return Do{Store: b.store(t, idem.Policy{}), At: at} }, Taken, processor.RepeatReplay, 1},
		{"Hold asks under the same key", hold(idem.Policy{Stale: idem.StaleRerun}), Taken, processor.RepeatReplay, 1},
		{"Hold finds out", hold(idem.Policy{Stale: idem.StaleResolve}), Taken, processor.RepeatCharge, 1},
		{"a step runs again under the same key", steps, Taken, processor.RepeatReplay, 1},
		{"a recorded step does not", steps, StepIsKept, processor.RepeatCharge, 1},
	} {
		t.Run(c.claim, func(t *testing.T) {
			p := keyed(fmt.Sprintf("key-%d", i+1))
			if err := b.card.Become(processor.Behaviour{Repeat: c.repeat}); err != nil {
				t.Fatal(err)
			}
			before := b.charges(t)
			crash(t, c.build, p, c.at)
			d := c.build(nil)
			o := until(t, d, p)
			if again := until(t, d, p); again.Kind != Replayed || again.ChargeID != o.ChargeID {
				t.Errorf("a retry gets %+v after %+v; want the same charge", again, o)
			}
			if n := b.charges(t) - before; n != c.charges {
				t.Errorf("%d charges, want %d", n, c.charges)
			}
		})
	}
}

func TestPendingClaimIsInFlightUntilItIsStale(t *testing.T) {
	b := setupBench(t)
	patient := func(at At) Design { return Claim{Pool: b.pool, Card: NewCard(b.url, at), Stale: time.Hour, At: at} }
	crash(t, patient, payment, Taken)
	if o, err := patient(nil).Pay(t.Context(), payment); err != nil || o.Kind != InFlight {
		t.Errorf("%+v, %v; want in flight", o, err)
	}
}
