package model

import (
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/pgidem/pgidem/idem"
)

// fewHistories is how many a broken protocol gets to be seen in.
const fewHistories = 10

// withoutSteps are the classes that a broken protocol is tried on.
var withoutSteps = []*class{atomicClass, rerunClass, resolveClass, refuseClass}

// illegal is which of a protocol's histories is the first that the model does not allow; 0: none is.
func illegal(t *testing.T, histories int, protocolOf broken) int {
	t.Helper()
	b := setup(t)
	for n := range histories {
		seed := number(t, modelSeed, rand.Uint64N(1e9)+1)
		began := time.Now()
		r := b.run(seed, withoutSteps, func(store *idem.Store) protocol {
			p := protocolOf
			p.sound = sound{store}
			return p
		})
		result, page := r.check(t)
		t.Logf("%s=%d: %s after %v", modelSeed, seed, result, time.Since(began).Round(time.Millisecond))
		os.Remove(page)
		if result == porcupine.Illegal {
			return n + 1
		}
	}
	return 0
}

// caught wants the model to find a protocol illegal.
func caught(t *testing.T, p broken) {
	t.Helper()
	if illegal(t, fewHistories, p) == 0 {
		t.Errorf("the model allows %d histories of a protocol that is broken", fewHistories)
	}
}

func TestModelCatchesCompletionWithoutFence(t *testing.T) { caught(t, broken{ends: completesByKey}) }

func TestModelCatchesAnswerThatIsWrittenOver(t *testing.T) { caught(t, broken{ends: completesAgain}) }

func TestModelCatchesCheckThenAct(t *testing.T) { caught(t, broken{do: looksThenActs}) }

func TestModelCatchesTakeoverOfARunningLease(t *testing.T) {
	caught(t, broken{claims: takesOverAtOnce})
}

func TestModelCatchesReplayOfAnotherKey(t *testing.T) { caught(t, broken{replays: replaysNewest}) }

func TestModelCatchesReleaseAfterTheEffect(t *testing.T) {
	caught(t, broken{ends: func(l heldLease) lease { return forgiving{l} }})
}

// What is caught above is caught for what is broken, and not for how the broken ones are built.
func TestModelAllowsTheBrokenProtocolUnbroken(t *testing.T) {
	if n := illegal(t, 4, broken{}); n != 0 {
		t.Errorf("history %d is illegal", n)
	}
}
