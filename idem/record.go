package idem

import (
	"time"

	"github.com/pgidem/pgidem/gen"
)

// State is where a key is in its life, by the database's clock.
type State string

const (
	StateHeld      State = "held"      // somebody's lease runs
	StateAbandoned State = "abandoned" // its lease is past and it is not finished: Policy.Stale applies
	StateReleased  State = "released"  // given back, nothing in doubt
	StateCommitted State = "committed" // finished with an answer
	StateFailed    State = "failed"    // finished with a definitive refusal
)

// Record is a key as it stands in the database.
type Record struct {
	Key         Key // Fingerprint and Request as stored
	State       State
	Fence       int64 // rises with every claim
	Attempts    int   // claims of this life
	Handler     string
	ClaimedAt   time.Time
	LockedUntil *time.Time // nil unless held or abandoned
	CreatedAt   time.Time
	CompletedAt *time.Time // nil until finished
	ExpiresAt   time.Time  // when a finished key is forgotten
	Response    *Response  // nil until finished
	Steps       []StepRecord

	stored Key // as stored: scoped
}

// StepRecord is a recovery point as it stands in the database.
type StepRecord struct {
	Name       string
	BegunAt    time.Time
	FinishedAt *time.Time // nil: it began, and what it did is not recorded
	Output     []byte
}

// DownstreamKey is what Lease.DownstreamKey was for the key's holder: the key under which to ask.
func (r *Record) DownstreamKey(step string) string {
	return downstreamKey(r.stored, []byte(r.Key.Fingerprint), step)
}

// Begun are the steps that began and were not recorded: those to ask about.
func (r *Record) Begun() (begun []StepRecord) {
	for _, s := range r.Steps {
		if s.FinishedAt == nil {
			begun = append(begun, s)
		}
	}
	return begun
}

func newRecord(key, stored Key, found gen.KeyLookupRow, steps []gen.StepListRow) *Record {
	key.Fingerprint, key.Request = Fingerprint(found.Fingerprint), string(found.Request)
	r := &Record{
		stored:      stored,
		Key:         key,
		State:       State(found.State),
		Fence:       found.Fence,
		Attempts:    int(found.Attempts),
		ClaimedAt:   found.ClaimedAt,
		LockedUntil: found.LockedUntil,
		CreatedAt:   found.CreatedAt,
		CompletedAt: found.CompletedAt,
		ExpiresAt:   found.ExpiresAt,
	}
	if found.Handler != nil {
		r.Handler = *found.Handler
	}
	if found.CompletedAt != nil {
		row := keyRow{loaded: &gen.KeyLoadRow{
			Status:         found.State,
			ResponseStatus: found.ResponseStatus,
			ResponseHeader: found.ResponseHeader,
			ResponseBody:   found.ResponseBody,
			ProviderRef:    found.ProviderRef,
			CompletedAt:    found.CompletedAt,
		}}
		r.Response = row.replay()
	}
	for _, s := range steps {
		r.Steps = append(r.Steps, StepRecord{Name: s.Name, BegunAt: s.BegunAt, FinishedAt: s.FinishedAt, Output: s.Output})
	}
	return r
}
