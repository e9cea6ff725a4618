package main

import (
	"time"

	"github.com/pgidem/pgidem/idem"
)

// question is what the command reads; its names are stable.
type question struct {
	Tenant         string            `json:"tenant"`
	Endpoint       string            `json:"endpoint"`
	Key            string            `json:"key"`
	Attempts       int               `json:"attempts"`
	CreatedAt      time.Time         `json:"created_at"`
	ClaimedAt      time.Time         `json:"claimed_at"`
	Handler        string            `json:"handler"`
	Request        []byte            `json:"request_base64"`
	DownstreamKeys map[string]string `json:"downstream_keys"`
	Steps          []stepShown       `json:"steps"`
}

// newQuestion asks about a key as its last holder left it, by the steps that are recorded now, and by names besides.
func newQuestion(left, now *idem.Record, names []string) question {
	q := question{
		Tenant: now.Key.Tenant, Endpoint: now.Key.Endpoint, Key: now.Key.ID, Attempts: left.Attempts,
		CreatedAt: now.CreatedAt.UTC(), ClaimedAt: left.ClaimedAt.UTC(), Handler: now.Handler,
		DownstreamKeys: map[string]string{}, Steps: stepsShown(now),
	}
	if now.Key.Request != "" {
		q.Request = []byte(now.Key.Request)
	}
	for _, name := range names {
		q.DownstreamKeys[name] = now.DownstreamKey(name)
	}
	for _, s := range now.Steps {
		q.DownstreamKeys[s.Name] = now.DownstreamKey(s.Name)
	}
	return q
}
