package idem

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/gen"
	"github.com/pgidem/pgidem/idem/internal/engine"
)

// Store runs work under idempotency keys in one database. Only Pool is required:
//
//	store := &idem.Store{Pool: pool, Policy: idem.Policy{Retention: 72 * time.Hour}}
//
// A Store is safe for concurrent use and must not be copied after its first call.
type Store struct {
	Pool   *pgxpool.Pool
	Policy Policy
	// Observe, if set, is told of every call when it ends, in the call's goroutine: metrics and logs hang here. nil: nobody.
	Observe func(context.Context, Event)
	// NoCoalescing sends every claim, completion and heartbeat of lease mode by itself. Otherwise those that a process makes at one
	// moment share a statement, which is two to three times as fast under load; a call that is alone sends the same either way.
	// Set it where the tables are sharded: no statement then names keys of two tenants.
	NoCoalescing bool
	// CacheBytes is how much memory finished answers may take here, so that a storm of retries is answered without the database: an
	// answer is given from memory for up to 10 s, also where an operator has meanwhile told the database to forget it. 0: none.
	CacheBytes int

	once   sync.Once
	shared *shared
}

// shared is what a Store and its Withs have in common.
type shared struct {
	engine    engine.Engine
	heartbeat *engine.Reserve // heartbeats only, so that they never queue behind a completion
	room      room
	running   running
	recent    recent
	meet      *coalescers // nil: everything travels alone
}

// With returns a Store for a route with a policy of its own: same pool, same connections, same waiting room.
func (s *Store) With(p Policy) *Store {
	with := &Store{Pool: s.Pool, Policy: p, Observe: s.Observe, NoCoalescing: s.NoCoalescing, CacheBytes: s.CacheBytes, shared: s.common()}
	with.once.Do(func() {})
	return with
}

// Close closes the connections that the Store opened beside the pool, for itself and all its Withs. Calls in lease mode that
// are still running cannot extend their leases afterwards.
func (s *Store) Close() {
	c := s.common()
	c.heartbeat.Close()
	c.engine.Reserve.Close()
}

func (s *Store) common() *shared {
	s.once.Do(func() {
		s.shared = &shared{
			engine:    engine.Engine{Pool: s.Pool, Reserve: engine.NewReserve()},
			heartbeat: engine.NewReserve(),
		}
		s.shared.recent.bytes = s.CacheBytes
		if !s.NoCoalescing {
			s.shared.meet = newCoalescers()
			s.shared.engine.Claims = &s.shared.meet.claims
		}
	})
	return s.shared
}

var errNoPool = fmt.Errorf("%w: the Store has no Pool", ErrInvalidPolicy)

// begin checks what a call was given and returns its policy, ready to use.
func (s *Store) begin(key Key) (Policy, error) {
	if s.Pool == nil {
		return Policy{}, errNoPool
	}
	policy, err := s.Policy.withDefaults()
	if err != nil {
		return policy, err
	}
	return policy, key.validate()
}

// Lookup reads a key and its steps without touching them. key.Fingerprint is not looked at. ErrNotFound where there is no such key; an expired
// key that no sweep has deleted yet is still found.
func (s *Store) Lookup(ctx context.Context, key Key) (*Record, error) {
	key.Fingerprint = AnyRequest
	if _, err := s.begin(key); err != nil {
		return nil, &KeyError{Op: "lookup", Key: key, Err: err}
	}
	stored := key.scoped(s.Policy.Scope)
	found, err := q.KeyLookup(ctx, s.Pool, gen.KeyLookupParams{TenantID: stored.Tenant, Endpoint: stored.Endpoint, Key: stored.ID})
	var steps []gen.StepListRow
	if err == nil {
		steps, err = q.StepList(ctx, s.Pool, gen.StepListParams{TenantID: stored.Tenant, Endpoint: stored.Endpoint, Key: stored.ID})
	}
	switch {
	case err == nil:
		return newRecord(key, stored, found, steps), nil
	case ignoreNoRows(err) == nil:
		err = ErrNotFound
	default:
		err = errors.Join(ErrUnavailable, err)
	}
	return nil, &KeyError{Op: "lookup", Key: key, Err: err}
}
