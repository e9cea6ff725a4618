package model

import "math/rand/v2"

const (
	clients    = 8
	operations = 500
	crashes    = 10
)

// action is one operation of a client, drawn before the history begins: the same seed asks for the same.
type action struct {
	name   string
	key    int
	other  bool // another request under the same key
	ending ending
	step   int // where ending happens, of work in steps
	before int // calls of others that begin while this one works, before its effect and after it
	after  int
	choice int // of what to do with a lease that is at hand, 0 to 9
	fuse   *fuse
}

// ending is how work ends.
type ending int

const (
	answers    ending = iota
	declines          // the downstream refuses for good
	fails             // before any effect, and nobody is told that
	failsAfter        // the effect: its answer was lost
	transient         // before any effect, and says so
	lies              // after the effect of a step, and says that it was before
)

// share is how often an action is drawn.
type share struct {
	name string
	of   int
}

var (
	atomicShares = []share{{"do", 62}, {"rows", 7}, {"lookup", 5}, {"expire", 21}, {"sweep", 5}}
	leasedShares = []share{
		{"hold", 30}, {"takeover", 13}, {"lease", 24}, {"age", 4}, {"expire", 14},
		{"settle", 4}, {"operator release", 3}, {"do", 3}, {"lookup", 2}, {"rows", 1}, {"sweep", 2},
	}
)

// plan draws what each client asks for, one after the other.
func plan(seed uint64, keys []*class) [clients][]action {
	random := rand.New(rand.NewPCG(seed, 5))
	var plan [clients][]action
	for n := range operations {
		plan[n%clients] = append(plan[n%clients], draw(random, n%clients, keys))
	}
	for n := range crashes {
		client := n % clients
		// not among the last: a fuse may need several calls to burn down
		at := random.IntN(len(plan[client]) - 30)
		for plan[client][at].fuse != nil {
			at++
		}
		plan[client][at].fuse = drawFuse(random)
	}
	return plan
}

func draw(random *rand.Rand, client int, keys []*class) action {
	a := action{key: random.IntN(len(keys)), other: random.IntN(40) == 0, choice: random.IntN(10), step: 2 * random.IntN(2)}
	shares := leasedShares
	if keys[a.key].atomic {
		shares = atomicShares
	}
	at := random.IntN(100)
	for _, s := range shares {
		if at -= s.of; at < 0 {
			a.name = s.name
			break
		}
	}
	if a.name == "lease" { // the same key again, so that it comes back to the lease that it has
		a.key = 1 + client%(len(keys)-1)
	}
	a.ending = [20]ending{declines, fails, fails, failsAfter, failsAfter, failsAfter, transient, transient, lies}[random.IntN(20)]
	a.before, a.after = linger(random), linger(random)
	return a
}

// linger is mostly short: nobody waits for work that is in no hurry.
func linger(random *rand.Rand) int {
	switch random.IntN(10) {
	case 0, 1, 2, 3:
		return 0
	case 9:
		return 10 + random.IntN(20)
	}
	return 1 + random.IntN(4)
}

func drawFuse(random *rand.Rand) *fuse {
	wire := []point{beforeSend, afterSend, beforeAnswer}
	calls := []point{beforeCall, inCall, inCall, inCall, afterCall}
	f := &fuse{trips: 1 + random.IntN(3)}
	switch random.IntN(5) {
	case 0:
		f.at = wire[random.IntN(len(wire))]
	case 1, 2:
		f.at, f.late = wire[random.IntN(len(wire))], true
	default:
		f.at = calls[random.IntN(len(calls))]
	}
	return f
}
