package webhook

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pgidem/pgidem/lab/workbench"
)

// small is a run whose events overlap also on a slow machine.
var small = &Webhook{Payments: 8, Copies: 3, Work: 20 * time.Millisecond, InHand: 5}

func TestWebhook(t *testing.T) {
	b := setup(t)
	if err := small.Check(); err != nil {
		t.Fatal(err)
	}
	steps, ended := map[string]int{}, 0
	b.bench.Steps = func(name string, n int) (func(), func()) {
		steps[name] = n
		return func() {}, func() { ended++ }
	}
	r, err := small.measure(t.Context(), b.bench, b.pool)
	if err != nil {
		t.Fatal(err)
	}

	t.Run("KeyedByThePaymentTheFollowUpIsDropped", func(t *testing.T) {
		row := r.key(oneTx, byPayment, false)
		if row.Events != 16 || row.Dropped != 8 || row.Once != 8 || row.Repeated != 0 || row.Times != 8 {
			t.Errorf("%+v, want 8 of 16 never fulfilled", row)
		}
	})
	t.Run("KeyedByThePaymentAndLookedUpFirstARedeliveryFulfilsTwice", func(t *testing.T) {
		row := r.key(lookFirst, byPayment, false)
		if row.Dropped != 8 || row.Repeated == 0 || row.Times <= 8 {
			t.Errorf("%+v, want 8 dropped and some fulfilled again", row)
		}
	})
	t.Run("ASelectFulfilsTwiceByTheEventsIDToo", func(t *testing.T) {
		row := r.key(lookFirst, byEvent, false)
		if row.Dropped != 0 || row.Repeated == 0 || row.Times <= 16 || row.Times != row.Started {
			t.Errorf("%+v, want some of 16 fulfilled again", row)
		}
	})
	t.Run("KeyedByTheEventInOneTransactionEachIsFulfilledOnce", func(t *testing.T) {
		for _, row := range []KeyRow{r.key(oneTx, byEvent, false), r.key(oneTx, byEvent, true), r.key(storeDo, byEvent, false)} {
			if row.Once != 16 || row.Times != 16 || row.Started != 16 || row.LateWorks != 0 || row.Deliveries != 48 || row.Late != 16 {
				t.Errorf("%+v, want 16 works and 16 fulfilled once, of 48 deliveries and 16 late ones", row)
			}
		}
	})
	t.Run("WithoutALedgerTheIndexKeepsTheRowAndTheWorkIsDoneAgain", func(t *testing.T) {
		row := r.key(noLedger, "", true)
		if row.Once != 16 || row.Times != 16 || row.Started != 48+16 || row.LateWorks != 16 {
			t.Errorf("%+v, want 16 fulfilled once by 64 works", row)
		}
	})
	t.Run("TheUniqueIndexHoldsWhereTwoLooksInterleave", func(t *testing.T) {
		bare, belted := r.pair(lookFirst, false), r.pair(lookFirst, true)
		if bare.Repeated != 8 || bare.Times != 16 {
			t.Errorf("without it: %+v, want all 8 fulfilled twice", bare)
		}
		if belted.Once != 8 || belted.Times != 8 || belted.Started != 16 {
			t.Errorf("with it: %+v, want 8 fulfilled once by 16 works", belted)
		}
		if bare.Apart.MedianSeconds <= 0 || bare.Apart.MostSeconds < bare.Apart.MedianSeconds {
			t.Errorf("the looks were %+v apart", bare.Apart)
		}
	})
	t.Run("TwoDeliveriesAtOnceBeginOneWorkOfTheProducts", func(t *testing.T) {
		if row := r.pair(storeDo, false); row.Once != 8 || row.Started != 8 {
			t.Errorf("%+v, want 8 works", row)
		}
	})
	t.Run("Answered200AnEventIsLostWithItsHolder", func(t *testing.T) {
		for _, ledger := range []string{staleClaim, oneTx} {
			row := r.death(ledger, http.StatusOK)
			if row.Told != (Told{OK: 8}) || row.Dropped != 8 || row.Times != 0 || row.Again != 0 || row.LostCents != 8*49_00 {
				t.Errorf("%+v, want all 8 answered 200 and lost", row)
			}
		}
	})
	t.Run("Answered409AnEventComesAgainAndIsFulfilledOnce", func(t *testing.T) {
		for _, ledger := range []string{staleClaim, oneTx, storeDo, storeHold} {
			row := r.death(ledger, http.StatusConflict)
			if row.Told != (Told{Conflict: 8}) || row.Once != 8 || row.Times != 8 || row.Again < 8 || row.LostCents != 0 {
				t.Errorf("%+v, want all 8 answered 409, and fulfilled once", row)
			}
			if row.Killed != 2 || row.InHand != 8 {
				t.Errorf("%s: %d processes killed with %d deliveries in hand, want 2 with 8", ledger, row.Killed, row.InHand)
			}
		}
	})
	t.Run("EveryFindingHolds", func(t *testing.T) {
		for _, f := range r.findings() {
			if !f.Holds {
				t.Errorf("%s: %s Measured: %s", f.Source, f.Claim, f.Measured)
			}
		}
	})
	t.Run("ProgressIsShown", func(t *testing.T) {
		if len(steps) != 8+5+6 || ended != len(steps) {
			t.Errorf("%d runs were shown, %d ended: %v", len(steps), ended, steps)
		}
		for name, n := range steps {
			if n != 8 || len(name) > 32 {
				t.Errorf("%q has %d steps; want 8, and a name of 32 columns", name, n)
			}
		}
	})
}

func TestRunEndsWithItsContext(t *testing.T) {
	b := setup(t)
	stopped := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	b.bench.Steps = func(string, int) (func(), func()) { return func() { cancel(stopped) }, func() {} }
	if _, err := small.measure(ctx, b.bench, b.pool); !errors.Is(err, stopped) {
		t.Errorf("error %v, want the cause", err)
	}
}

func TestRunNeedsTheProgramItself(t *testing.T) {
	if _, err := New().Run(t.Context(), new(workbench.Bench)); err == nil || !strings.Contains(err.Error(), "start") {
		t.Errorf("error %v", err)
	}
}

func TestCheckNamesTheFlag(t *testing.T) {
	if err := New().Check(); err != nil {
		t.Errorf("a full run: %v", err)
	}
	for want, change := range map[string]func(*Webhook){
		"--payments is 0": func(w *Webhook) { w.Payments = 0 },
		"--copies is 1":   func(w *Webhook) { w.Copies = 1 },
		"--copies is 17":  func(w *Webhook) { w.Copies = 17 },
		"--work is -1s":   func(w *Webhook) { w.Work = -time.Second },
		"--in-hand is 0":  func(w *Webhook) { w.InHand = 0 },
		"--in-hand is 101": func(w *Webhook) {
			w.InHand = 101
		},
	} {
		w := New()
		change(w)
		if err := w.Check(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}
