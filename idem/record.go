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
	Key         Key // Fingerprint as stored; Request is not read
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
}

func newRecord(key Key, found gen.KeyLookupRow) *Record {
	key.Fingerprint = Fingerprint(found.Fingerprint)
	r := &Record{
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
	return r
}
