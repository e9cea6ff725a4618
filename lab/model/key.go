package model

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Steps is how many steps the work has that is done in steps.
const Steps = 3

// begun is the record of a step whose output is not known.
const begun = "?"

// past is the end of a lease that an UPDATE has moved so far back that any Settle has passed since.
const past = -1000 * time.Hour

// slack is what the clocks of this process and of the database, on one machine, may differ by over the length of a lease.
const slack = 5 * time.Millisecond

// key is one key as the model sees it. It is compared by ==.
type key struct {
	status   status
	expired  bool // its retention has passed
	swept    bool // and a sweep has been since: there may be no row
	request  int
	attempt  int
	holder   int           // token of the claim that holds it
	fence    int64         // of that claim; below 0: of a client that never told
	top      int64         // the highest that anybody was told
	given    bool          // its holder has it from one that was given up
	lapse    time.Duration // the lease is not over before
	answer   string
	steps    [Steps]string // recorded outputs; begun, or empty
	doubtful [Steps]bool   // the step had begun before it began
	had      [Steps]string // what the downstream did in this life
	effects  [Steps]uint64 // the requests that have had their effect, over all lives: a bit each
	rows     string        // committed in the user's own table, sorted
}

type status string

const (
	none     status = ""
	held     status = "held" // or abandoned: see lapse
	released status = "released"
	finished status = "finished"
)

// isStepped reports whether something is recorded or begun.
func (k key) isStepped() bool { return k.steps != [Steps]string{} }

// hasBegun reports whether a step stands that may have had its effect.
func (k key) hasBegun() bool { return slices.Contains(k.steps[:], begun) }

// answers reports whether the key has an answer to replay.
func (k key) answers() bool { return k.status == finished && !k.expired }

// isFree reports whether a claim for the request gets the key from nobody.
func (k key) isFree(request int) bool {
	switch k.status {
	case none:
		return true
	case finished:
		return k.expired
	case released:
		return !k.isStepped() || k.request == request
	}
	return false
}

// isHeldBy reports whether a claim may write what only the holder may.
func (k key) isHeldBy(token int) bool { return k.status == held && k.holder == token }

// isAbandoned reports whether the lease can be over for at least settle at a time.
func (k key) isAbandoned(at, settle time.Duration) bool {
	return k.status == held && at+slack >= k.lapse+settle
}

// live is the next life of the key, or the same one where it was given back in the middle.
func (k key) live(in Operation) key {
	if k.status == released && k.isStepped() {
		k.attempt++
		k.given = false
		return k.take(in)
	}
	next := key{request: in.Request, attempt: 1, fence: k.fence, top: k.top, effects: k.effects, rows: k.rows}
	if k.request == in.Request {
		next.had = k.had // the downstream knows the request, whatever became of the key
	}
	return next.take(in)
}

// take makes the claim the key's holder. The fence is yet to be told.
func (k key) take(in Operation) key {
	k.status, k.holder, k.lapse = held, in.Token, in.At+in.Lease
	return k
}

// told notes the fence and attempt that a holder was told; ok unless the fence has not risen or the attempt is another.
func (k key) told(out Result) (key, bool) {
	ok := out.Fence > k.top && out.Attempt == k.attempt
	k.fence, k.top = out.Fence, max(k.top, out.Fence)
	return k, ok
}

// untold is the fence of a claim whose client never told: unlike every other.
func (k key) untold(token int) key {
	k.fence = -int64(token)
	return k
}

// finish gives the key its answer.
func (k key) finish(answer string) key {
	k.status, k.answer, k.holder, k.expired, k.swept = finished, answer, 0, false, false
	return k
}

// extend moves the end of the lease.
func (k key) extend(in Operation) key {
	k.lapse = max(k.lapse, in.At+in.Lease)
	return k
}

// abandon ends the lease.
func (k key) abandon(in Operation) key {
	k.lapse = min(k.lapse, in.At)
	return k
}

// insert adds a row to the user's own table.
func (k key) insert(row string) key {
	if row == "" {
		return k
	}
	rows := append(strings.Fields(k.rows), row)
	slices.Sort(rows)
	k.rows = strings.Join(rows, " ")
	return k
}

// due is the answer that the work of this life has to give.
func (k key) due(in Operation) string {
	if in.Stepped {
		return strings.Join(k.steps[:], "+")
	}
	return k.had[0]
}

func (k key) String() string {
	var text strings.Builder
	switch {
	case k.status == none:
		text.WriteString("no row")
	case k.expired:
		text.WriteString("expired")
	default:
		text.WriteString(string(k.status))
	}
	if k.status != none {
		fmt.Fprintf(&text, ", request %d, attempt %d", k.request, k.attempt)
	}
	if k.status == held {
		fmt.Fprintf(&text, ", by #%d", k.holder)
		if k.lapse == past {
			text.WriteString(", aged")
		} else {
			fmt.Fprintf(&text, " until %v", k.lapse.Round(time.Microsecond))
		}
	}
	if k.status == finished {
		fmt.Fprintf(&text, ", %q", k.answer)
	}
	if k.isStepped() {
		fmt.Fprintf(&text, ", steps %q", k.steps)
	}
	if k.had != [Steps]string{} {
		fmt.Fprintf(&text, ", downstream %q", k.had)
	}
	if k.rows != "" {
		fmt.Fprintf(&text, ", rows [%s]", k.rows)
	}
	return text.String()
}
