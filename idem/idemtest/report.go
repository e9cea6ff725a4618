package idemtest

import (
	"fmt"
	"time"
)

// Report counts what a storm sent and what came back.
type Report struct {
	Rounds   int
	Keys     int // all different
	Requests int // all of them
	Firsts   int // answers without Idempotent-Replayed; one a key where all is well
	Replays  int
	NotYet   int // 409 and 503 with Retry-After
	Others   int // none of these: faults
	Retries  int // of Requests, those sent one by one after the copies
	Duration time.Duration
}

// String is a line for a log.
func (r Report) String() string {
	return fmt.Sprintf("storm: %d rounds, %d keys, %d requests (%d of them retries) in %v: %d first answers, %d replays, %d not yet, %d others",
		r.Rounds, r.Keys, r.Requests, r.Retries, r.Duration.Round(time.Millisecond), r.Firsts, r.Replays, r.NotYet, r.Others)
}

func (r *Report) add(c *customer) {
	r.Keys++
	r.Requests += len(c.copies) + len(c.retries)
	r.Retries += len(c.retries)
	r.Firsts += len(c.by[first])
	r.Replays += len(c.by[replay])
	r.NotYet += len(c.by[notYet])
	r.Others += len(c.by[stray])
}
