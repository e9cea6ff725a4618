package sweep

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/pgidem/pgidem/idem"
)

// claims are what callers saw who came at a steady rate.
type claims struct {
	mu      sync.Mutex
	seconds []float64 // from when each was to come until it had its answer
	failed  int
	first   string // failure
}

// claim sends new keys through store, so many a second, until done, and waits for their answers.
func (s *Sweep) claim(ctx context.Context, store *idem.Store, done <-chan struct{}) *claims {
	c := new(claims)
	var callers sync.WaitGroup
	defer callers.Wait()
	beat := time.NewTicker(time.Second / time.Duration(s.Rate))
	defer beat.Stop()
	for {
		callers.Go(func() { c.call(ctx, store) })
		select {
		case <-done:
			return c
		case <-ctx.Done():
			return c
		case <-beat.C:
		}
	}
}

func (c *claims) call(ctx context.Context, store *idem.Store) {
	id := uuid.NewString()
	key := idem.Key{Tenant: "lab", Endpoint: "POST /payments", ID: id, Fingerprint: idem.FingerprintOf([]byte(id))}
	began := time.Now()
	_, err := store.Hold(ctx, key, func(context.Context, *idem.Lease) (*idem.Response, error) {
		return &idem.Response{Status: 201, Body: []byte(id)}, nil
	})
	took := time.Since(began).Seconds()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seconds = append(c.seconds, took)
	if err == nil {
		return
	}
	if c.failed++; c.first == "" {
		c.first = err.Error()
	}
}
