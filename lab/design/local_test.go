package design

import (
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/internal/testdb"
	"github.com/pgidem/pgidem/lab/redis"
)

// together pays one payment from n callers at once and returns what each was told.
func together(t *testing.T, d Design, p Payment, n int) []Outcome {
	t.Helper()
	told, errs := make([]Outcome, n), make([]error, n)
	var callers sync.WaitGroup
	for i := range n {
		callers.Go(func() { told[i], errs[i] = d.Pay(t.Context(), p) })
	}
	callers.Wait()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
	return told
}

// Where the charge is a row of this database and nobody dies, each of the article's correct designs charges once, and who lost
// the key polls for the winner's answer.
func TestLocalChargeIsMadeOnceAndItsAnswerGivenToAll(t *testing.T) {
	const callers = 8
	pool := testdb.New(t, func(c *pgxpool.Config) { c.MaxConns = callers })
	if err := Install(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	if err := ResetClaims(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	server, err := redis.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	client := server.Pool(callers)
	t.Cleanup(func() { _ = client.Close() })
	store := &idem.Store{Pool: pool, Policy: idem.Policy{Wait: time.Minute}}
	t.Cleanup(store.Close)

	const delay = 30 * time.Millisecond
	patient := Polling{Every: 5 * time.Millisecond, Times: 10_000}
	for _, d := range []Design{
		Claim{Pool: pool, Delay: delay, Poll: patient},
		Transaction{Pool: pool, Delay: delay},
		RedisLock{Client: client, Pool: pool, Delay: delay, Stale: time.Hour, Poll: patient},
		HoldRow{Store: store, Pool: pool, Delay: delay},
	} {
		t.Run(d.Name(), func(t *testing.T) {
			p := keyed(d.Name())
			before, began := charges(t, pool), time.Now()
			charged := 0
			told := together(t, d, p, callers)
			for _, o := range told {
				if o.Kind == Charged {
					charged++
				}
				if o.Kind == InFlight || o.ChargeID != told[0].ChargeID {
					t.Errorf("a caller is told %+v, another %+v", o, told[0])
				}
			}
			if n := charges(t, pool) - before; n != 1 || charged != 1 {
				t.Errorf("%d charges, %d callers who charged; want 1, 1", n, charged)
			}
			if took := time.Since(began); took < delay {
				t.Errorf("it took %s, less than a charge", took)
			}
		})
	}
}

// A look that finds the key in flight is the end of it without polling: the crash test's clients come again by themselves.
func TestLoserThatDoesNotPollIsToldAtOnce(t *testing.T) {
	pool := setup(t)
	if err := ResetClaims(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	if mine, err := (claims{pool}).insert(t.Context(), payment.Key); err != nil || !mine {
		t.Fatal(mine, err)
	}
	for _, d := range []Claim{{Pool: pool}, {Pool: pool, Poll: Polling{Every: time.Millisecond, Times: 3}}} {
		if o, err := d.Pay(t.Context(), payment); err != nil || o.Kind != InFlight {
			t.Errorf("%+v, %v; want in flight: it is never taken over", o, err)
		}
	}
	if n := charges(t, pool); n != 0 {
		t.Errorf("%d charges, want none", n)
	}
}

func TestClaimPromisesOneChargeUnlessItIsTakenOver(t *testing.T) {
	if !(Claim{}).Once() || (Claim{Stale: time.Second}).Once() {
		t.Error("a claim that nobody takes over charges once; one that is taken over does not")
	}
}
