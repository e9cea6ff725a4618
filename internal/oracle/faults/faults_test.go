package faults_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/pgidem/pgidem/internal/devpg"
	"github.com/pgidem/pgidem/internal/testdb"
)

// envFaults set to full gives every fault its full length; otherwise a tenth of it goes into go test.
const envFaults = "PGIDEM_FAULTS"

// scale is how much of its length a fault gets.
type scale struct {
	before, after time.Duration // of load around each fault
	down          time.Duration // that a killed server stays down
	part          time.Duration // of a partition
	lasting       time.Duration // of every other fault
}

var (
	brief = scale{before: time.Second, after: 2 * time.Second, down: 300 * time.Millisecond, part: 2 * time.Second, lasting: time.Second}
	whole = scale{before: 10 * time.Second, after: 15 * time.Second, down: 3 * time.Second, part: 8 * time.Second, lasting: 10 * time.Second}
)

func scaleOf(t *testing.T) scale {
	t.Helper()
	switch s := os.Getenv(envFaults); s {
	case "":
		return brief
	case "full":
		return whole
	default:
		t.Fatalf("%s is %q; it must be full, or unset", envFaults, s)
		panic("unreachable")
	}
}

// fault is one way in which a database, or the way to it, fails.
type fault struct {
	name    string
	between route              // each process and the server
	strike  func(s *stage) int // makes it, and returns when it is over: how often it struck
	struck  int                // of the two processes
	hurts   bool               // some call has to fail, or the fault has missed
}

var faults = []fault{
	{"server killed and restarted", direct, (*stage).killAndRestart, 2, true},
	{"backends in use terminated", direct, (*stage).terminateBackends, 2, false},
	{"every tenth COMMIT unanswered", throughMessages, (*stage).loseCommits, 2, false},
	{"25 ms more to each answer", throughToxiproxy, delayed(25 * time.Millisecond), 2, false},
	{"100 ms more to each answer", throughToxiproxy, delayed(100 * time.Millisecond), 2, false},
	{"partition that loses what is sent", throughToxiproxy, (*stage).partition, 2, true},
	{"partition of one process that delivers late", throughMessages, (*stage).stallOne, 1, false},
	{"answers to one process that come late", throughMessages, (*stage).stallAnswersOfOne, 1, false},
}

// The database, or the way to it, fails under 50 requests a second of both modes: each key is sent to two processes, and some are
// given up by both clients. After each fault every key has one effect and all its callers the same answer; once Settle has passed a
// first call answers every key that was left (StaleResolve, at a processor that charges at every call and can be asked); and no
// connection or goroutine is left.
func TestFaultsLeaveOneEffectForEachKey(t *testing.T) {
	scale := scaleOf(t)
	own := testdb.Server(t, devpg.Options{})
	if _, err := own.Pool.Exec(t.Context(), createCharges); err != nil {
		t.Fatal(err)
	}
	var rows []row
	for _, f := range faults {
		t.Run(strings.ReplaceAll(f.name, " ", "-"), func(t *testing.T) {
			rows = append(rows, run(t, own, scale, f))
		})
	}
	t.Log("\n" + table(rows))
}
