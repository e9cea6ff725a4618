package model

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/pgidem/pgidem/idem"
)

const (
	histories = "PGIDEM_MODEL_HISTORIES" // how many; unset: 20
	modelSeed = "PGIDEM_MODEL_SEED"      // of the one history to run again; unset: new ones, printed
)

func number(t *testing.T, name string, unset uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return unset
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// Whatever crashes: what clients were told about each key is what one client after the other could have been told.
func TestHistoriesAreLinearizable(t *testing.T) {
	b := setup(t)
	count := number(t, histories, 20)
	seed := number(t, modelSeed, 0)
	if seed != 0 {
		count = 1
	}
	total := newTally()
	for range count {
		s := seed
		if s == 0 {
			s = rand.Uint64N(1e9) + 1
		}
		began := time.Now()
		r := b.run(s, classes(s), func(store *idem.Store) protocol { return sound{store} })
		ran := time.Since(began)
		result, page := r.check(t)
		all, overlapping := r.history.Calls()
		t.Logf("%s=%d: %s; %d calls in %v, %d of them overlapping; %d crashes, %d operations unfinished; checked in %v", modelSeed, s, result,
			all, ran.Round(time.Millisecond), overlapping, r.crashes.Load(), r.history.Unfinished(), (time.Since(began) - ran).Round(time.Millisecond))
		switch {
		case result != porcupine.Ok:
			t.Fatalf("%s=%d: the history is %s: see %s", modelSeed, s, result, page)
		case all != operations:
			t.Errorf("%d calls, want %d", all, operations)
		case 3*overlapping < all:
			t.Errorf("%d of %d calls overlap another one on the same key, want a third", overlapping, all)
		case r.crashes.Load() != crashes:
			t.Errorf("%d crashes, want %d", r.crashes.Load(), crashes)
		}
		for _, note := range refused(r.history) {
			t.Log(note)
		}
		total.add(r.history)
	}
	total.log(t)
	b.shared.check(t)
	if count >= 20 {
		total.check(t)
	}
}
