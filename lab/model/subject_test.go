package model

import (
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/pgidem/pgidem/idem"
)

// subject is one key of a history, with its downstream.
type subject struct {
	id        string
	tenant    string
	class     *class
	processor *processor

	// gate: who works holds it, who lets time pass has it alone. Retention is longer than any client's queue may lag, so a claim for an
	// old request is never on its way when the key expires.
	gate   sync.RWMutex
	epochs atomic.Int64 // how often its answer has expired; in lease mode a new life is for a new request
}

// mostEpochs keeps requests below the 64 that the model can tell apart.
const mostEpochs = 30

// request is the one of now, or another one that comes under the same key.
func (s *subject) request(other bool) int {
	r := 2 * int(s.epochs.Load())
	if other {
		r++
	}
	return r
}

func (s *subject) key(request int) idem.Key {
	return idem.Key{Tenant: s.tenant, Endpoint: s.class.name, ID: s.id, Fingerprint: idem.FingerprintOf([]byte(strconv.Itoa(request)))}
}

// policy is the class's, with what all have in common.
func (s *subject) policy() idem.Policy {
	p := s.class.policy
	p.Wait = patience
	return p
}
