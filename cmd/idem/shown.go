package main

import (
	"encoding/hex"
	"time"

	"github.com/pgidem/pgidem/idem"
)

// shown is what --json writes; its names are stable.
type shown struct {
	Tenant      string       `json:"tenant"`
	Endpoint    string       `json:"endpoint"`
	Key         string       `json:"key"`
	State       idem.State   `json:"state"`
	Fence       int64        `json:"fence"`
	Attempts    int          `json:"attempts"`
	Handler     string       `json:"handler"`
	Fingerprint string       `json:"fingerprint"`
	CreatedAt   time.Time    `json:"created_at"`
	ClaimedAt   time.Time    `json:"claimed_at"`
	LockedUntil *time.Time   `json:"locked_until"`
	CompletedAt *time.Time   `json:"completed_at"`
	ExpiresAt   time.Time    `json:"expires_at"`
	Steps       []stepShown  `json:"steps"`
	Response    *shownAnswer `json:"response"`
}

type shownAnswer struct {
	Status      int                 `json:"status"`
	Failed      bool                `json:"failed"`
	ProviderRef string              `json:"provider_ref"`
	Header      map[string][]string `json:"header"`
	BodyKept    bool                `json:"body_kept"`
	BodyBytes   int                 `json:"body_bytes"`
	Body        *[]byte             `json:"body_base64,omitempty"`
}

func newShown(r *idem.Record, body bool) shown {
	s := shown{
		Tenant: r.Key.Tenant, Endpoint: r.Key.Endpoint, Key: r.Key.ID,
		State: r.State, Fence: r.Fence, Attempts: r.Attempts, Handler: r.Handler,
		Fingerprint: hex.EncodeToString([]byte(r.Key.Fingerprint)),
		CreatedAt:   r.CreatedAt.UTC(), ClaimedAt: r.ClaimedAt.UTC(), ExpiresAt: r.ExpiresAt.UTC(),
		LockedUntil: inUTC(r.LockedUntil), CompletedAt: inUTC(r.CompletedAt), Steps: stepsShown(r),
	}
	if answer := r.Response; answer != nil {
		s.Response = &shownAnswer{
			Status: answer.Status, Failed: answer.Failed, ProviderRef: answer.ProviderRef, Header: answer.Header,
			BodyKept: !answer.BodyDropped, BodyBytes: len(answer.Body),
		}
		if s.Response.Header == nil {
			s.Response.Header = map[string][]string{}
		}
		if body && !answer.BodyDropped {
			s.Response.Body = &answer.Body
		}
	}
	return s
}

// stepShown is a step in JSON; its names are stable.
type stepShown struct {
	Name       string     `json:"name"`
	BegunAt    time.Time  `json:"begun_at"`
	FinishedAt *time.Time `json:"finished_at"`
	Output     []byte     `json:"output_base64"`
}

func stepsShown(r *idem.Record) []stepShown {
	shown := []stepShown{}
	for _, s := range r.Steps {
		shown = append(shown, stepShown{s.Name, s.BegunAt.UTC(), inUTC(s.FinishedAt), s.Output})
	}
	return shown
}

func inUTC(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	u := t.UTC()
	return &u
}
