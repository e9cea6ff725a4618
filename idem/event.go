package idem

import (
	"context"
	"errors"
	"time"
)

// Event tells Observe how a call ended. It never holds the key itself.
type Event struct {
	Op       string // do, dotx, dobatch, claim, hold, resolve, step, extend, complete, release, abandon
	Tenant   string
	Endpoint string
	Outcome  Outcome
	Duration time.Duration // of the whole call
	Attempts int           // claims of this life of the key so far; 0 where the call did not claim
	Err      error         // what the call returned
}

// Outcome is how a call ended, as a label for a metric.
type Outcome string

const (
	OutcomeDone           Outcome = "done"     // the work ran and its answer stands, or the lease was changed as asked
	OutcomeRefused        Outcome = "refused"  // the work ran and its answer is a recorded refusal
	OutcomeReplayed       Outcome = "replayed" // an earlier call's answer
	OutcomeInFlight       Outcome = "in_flight"
	OutcomeMismatch       Outcome = "mismatch"
	OutcomeContended      Outcome = "contended"
	OutcomeOutcomeUnknown Outcome = "outcome_unknown"
	OutcomeLeaseLost      Outcome = "lease_lost"
	OutcomeUnavailable    Outcome = "unavailable"
	OutcomeCommitUnknown  Outcome = "commit_unknown"
	OutcomeInvalid        Outcome = "invalid"
	OutcomeStepOrder      Outcome = "step_order"
	OutcomeError          Outcome = "error" // fn's own error, or the caller gave up
)

func outcomeOf(resp *Response, err error) Outcome {
	if err == nil {
		switch {
		case resp == nil:
			return OutcomeDone
		case resp.Replayed:
			return OutcomeReplayed
		case resp.Failed:
			return OutcomeRefused
		}
		return OutcomeDone
	}
	if _, own := err.(*workError); own {
		return OutcomeError
	}
	for _, kind := range []struct {
		err     error
		outcome Outcome
	}{
		{ErrInFlight, OutcomeInFlight},
		{ErrMismatch, OutcomeMismatch},
		{ErrContended, OutcomeContended},
		{ErrOutcomeUnknown, OutcomeOutcomeUnknown},
		{ErrLeaseLost, OutcomeLeaseLost},
		{ErrCommitUnknown, OutcomeCommitUnknown},
		{ErrUnavailable, OutcomeUnavailable},
		{ErrInvalidKey, OutcomeInvalid},
		{ErrInvalidPolicy, OutcomeInvalid},
		{ErrStepOrder, OutcomeStepOrder},
	} {
		if errors.Is(err, kind.err) {
			return kind.outcome
		}
	}
	return OutcomeError
}

func (s *Store) observe(ctx context.Context, e Event) {
	if s.Observe != nil {
		s.Observe(ctx, e)
	}
}
