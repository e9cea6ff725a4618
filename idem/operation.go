package idem

import (
	"context"
	"errors"
	"time"

	"github.com/pgidem/pgidem/idem/internal/borrow"
	"github.com/pgidem/pgidem/idem/internal/engine"
)

// operation is one call on one key, from its checks to its event.
type operation struct {
	store  *Store
	shared *shared
	name   string
	key    Key // as given
	policy Policy
	row    *keyRow
	began  time.Time
	turn   *turn // of Hold
	reads  bool  // its caller only reads the answer's body
}

// stepAside lets those who wait in memory ask the database, which has the answer before the work has ended.
func (o *operation) stepAside() {
	if o.turn != nil {
		o.turn.end(nil)
	}
}

// open checks what the call was given, and counts it as running until leave. The error is ready to be returned.
func (s *Store) open(ctx context.Context, name string, key Key, leased bool) (*operation, error) {
	o := &operation{store: s, name: name, key: key, began: time.Now(), reads: borrow.IsBody(ctx, key.Tenant, key.Endpoint, key.ID)}
	policy, err := s.begin(key)
	if err == nil {
		o.policy, o.shared, o.row = policy, s.common(), newKeyRow(key, policy, leased)
		if isHeld(ctx, o.shared, o.roomKey()) {
			err = ErrInFlight // a call for a key that this very call holds would wait for itself
		}
	}
	if err == nil {
		err = o.shared.running.enter()
	}
	if err != nil {
		_, err = o.close(ctx, nil, err)
		return nil, err
	}
	return o, nil
}

// leave ends the call, also where fn panicked.
func (o *operation) leave() { o.shared.running.leave() }

func (o *operation) roomKey() roomKey {
	return roomKey{tenant: o.row.key.Tenant, endpoint: o.row.key.Endpoint, id: o.row.key.ID}
}

// enter waits in memory for the callers of this key in this process.
func (o *operation) enter(ctx context.Context) (*turn, *Response, error) {
	v := visitor{fingerprint: o.row.key.Fingerprint, leased: o.row.leased, reads: o.reads}
	turn, answer, age, err := o.shared.room.enter(ctx, o.roomKey(), v, o.policy.Wait)
	if errors.Is(err, ErrInFlight) && o.row.leased {
		o.row.retryAfter = patience(age)
	}
	return turn, answer, err
}

// budget is what is left of Wait. What was spent waiting in memory is gone; a call that comes out of the queue too late still
// asks the database once, which costs it the least wait.
func (o *operation) budget() engine.Budget {
	wait := o.policy.Wait
	if wait > 0 {
		wait = max(wait-time.Since(o.began), 0)
	}
	return engine.Budget{Wait: wait, Lease: o.policy.Lease}
}

// answer turns what the engine decided into what the call returns.
func (o *operation) answer(row engine.Row, v engine.Verdict, err error) (*Response, error) {
	o.row = row.(*keyRow)
	switch {
	case err != nil:
		return nil, err
	case v == engine.Finished:
		return o.row.replay(), nil
	}
	return o.row.recorded(), nil
}

// report dresses the error of a part of the call, and tells Observe of it.
func (o *operation) report(ctx context.Context, name string, err error) error {
	part := *o
	part.name, part.began = name, time.Now()
	_, err = part.close(ctx, nil, err)
	return err
}

// close ends the call: it dresses the Store's own errors as *KeyError, leaves those of fn as they are, and tells Observe.
func (o *operation) close(ctx context.Context, resp *Response, err error) (*Response, error) {
	event := Event{
		Op: o.name, Tenant: o.key.Tenant, Endpoint: o.key.Endpoint,
		Outcome: outcomeOf(resp, err), Duration: time.Since(o.began),
	}
	if err != nil {
		err = o.dress(err)
	}
	event.Err = err
	if o.row != nil && o.row.claimed != nil {
		event.Attempts = int(o.row.claimed.Attempts)
	}
	o.store.observe(ctx, event)
	return resp, err
}

func (o *operation) dress(err error) error {
	if work, ok := err.(*workError); ok { // itself, not around it: fn may return what a nested call told it
		return work.err
	}
	if engine.IsSerialization(err) && !errors.Is(err, ErrUnavailable) {
		return err // DoTx: the caller's transaction is to run again, and its retry loop looks for this error
	}
	dressed := &KeyError{Op: o.name, Key: o.key, Err: err}
	switch {
	case errors.Is(err, ErrInFlight):
		dressed.RetryAfter = time.Second
		if o.row != nil && o.row.retryAfter > 0 {
			dressed.RetryAfter = o.row.retryAfter
		}
	case errors.Is(err, ErrContended), errors.Is(err, ErrUnavailable), errors.Is(err, ErrCommitUnknown):
		dressed.RetryAfter = time.Second
	case errors.Is(err, ErrMismatch):
		dressed.FingerprintVersion = o.row.version
	}
	return dressed
}

// workError is an error of fn on its way through the engine.
type workError struct{ err error }

func (e *workError) Error() string { return e.err.Error() }
func (e *workError) Unwrap() error { return e.err }
