package idem

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/pgidem/pgidem/idem/internal/engine"
)

// Work is the work of lease mode: its effect is elsewhere. A nil Response with a nil error means &Response{}, unless the work
// completed the lease itself.
type Work func(ctx context.Context, l *Lease) (*Response, error)

// Claim takes a key for work whose effect is outside this database, or returns the answer that it already has: exactly one of
// the results is set. The claim is committed before Claim returns and holds no connection. It does not wait for a holder.
// Nothing extends the lease: that is the caller's, as is ending it:
//
//	lease, resp, err := store.Claim(ctx, key)
//	if lease == nil {
//		return resp, err
//	}
//	defer lease.Abandon(ctx)
//
// Hold does all this.
func (s *Store) Claim(ctx context.Context, key Key) (*Lease, *Response, error) {
	o, err := s.open(ctx, "claim", key, true)
	if err != nil {
		return nil, nil, err
	}
	defer o.leave()
	resp, settled, err := o.recall(ctx)
	var lease *Lease
	if !settled {
		lease, resp, err = o.claim(ctx)
		o.remember(resp)
	}
	resp, err = o.close(ctx, resp, err)
	return lease, resp, err
}

// claim asks the database once.
func (o *operation) claim(ctx context.Context) (*Lease, *Response, error) {
	sent := time.Now()
	row, v, err := o.shared.engine.Claim(ctx, o.row.Fresh(), o.budget())
	o.row = row.(*keyRow)
	switch {
	case err != nil:
		return nil, nil, err
	case v == engine.Finished:
		return nil, o.row.replay(), nil
	}
	lease := newLease(o, sent)
	switch {
	case ctx.Err() != nil: // the caller has gone, and nothing ran
		return nil, nil, errors.Join(context.Cause(ctx), lease.unused(ctx))
	case o.shared.running.isDraining(): // since the call began, and nothing ran
		return nil, nil, errors.Join(ErrUnavailable, ErrDraining, lease.unused(ctx))
	case o.row.inherited && o.row.asks():
		var resp *Response
		if lease, resp, err = o.resolve(ctx, lease); lease == nil {
			return nil, resp, err
		}
	}
	if err := lease.confirm(ctx); err != nil {
		return nil, nil, err
	}
	return lease, nil, nil
}

// Hold runs fn under a lease that it extends until fn returns, and records fn's answer. No connection is held while fn runs.
//
// fn's context outlives the caller's: a client that hangs up changes nothing. It is cancelled, with ErrLeaseLost as its cause,
// only when the database says that the key is another's.
//
// An error of fn comes back unchanged. Wrapped in Transient it gives the key back, with the steps that are recorded, provided that
// at most one downstream key was asked for outside of steps (the call that failed), no step is begun and unrecorded, and the key
// was not taken from a holder that was given up; any other error and every panic leave the outcome unknown, and Policy.Stale
// applies to the next caller. If fn completed the lease itself, the recorded answer is returned. If the lease was lost, so is fn's answer: the
// recorded one is returned, or ErrLeaseLost.
//
// A duplicate waits up to Policy.Wait, in memory or asking again every 25 to 250 ms, then gets ErrInFlight.
func (s *Store) Hold(ctx context.Context, key Key, fn Work) (*Response, error) {
	o, err := s.open(ctx, "hold", key, true)
	if err != nil {
		return nil, err
	}
	defer o.leave()
	turn, resp, err := o.enter(ctx)
	if turn == nil {
		return o.close(ctx, resp, err)
	}
	o.turn = turn
	defer func() { turn.end(recordedOnly(resp)) }()
	resp, settled, err := o.recall(ctx)
	if settled {
		return o.close(ctx, resp, err)
	}
	lease, resp, err := o.claimPatiently(ctx)
	if lease == nil {
		o.remember(resp)
		return o.close(ctx, resp, err)
	}
	resp, err = lease.hold(ctx, fn)
	if err != nil {
		resp = nil
	}
	o.remember(resp)
	return o.close(ctx, resp, err)
}

// claimPatiently asks until the key is free, its answer is there, or Wait has run out.
func (o *operation) claimPatiently(ctx context.Context) (*Lease, *Response, error) {
	const first, longest = 25 * time.Millisecond, 250 * time.Millisecond
	for pause := first; ; pause = min(2*pause, longest) {
		lease, resp, err := o.claim(ctx)
		left := o.policy.Wait - time.Since(o.began)
		if !errors.Is(err, ErrInFlight) || left <= 0 {
			return lease, resp, err
		}
		jittered := pause/2 + rand.N(pause/2)
		select {
		case <-time.After(min(jittered, left)):
		case <-ctx.Done():
			return nil, nil, context.Cause(ctx)
		}
	}
}

// hold runs fn beside the heartbeat and settles the lease by what it returned.
func (l *Lease) hold(ctx context.Context, fn Work) (*Response, error) {
	detached, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	done, err := l.op.shared.running.hold(l, func(ctx context.Context) error {
		cancel(ErrDraining)
		return l.handOver(ctx)
	})
	if err != nil { // since the call began, and nothing ran
		return nil, errors.Join(err, l.unused(ctx))
	}
	defer done()
	returned := false
	defer func() {
		if !returned { // a panic or Goexit goes on up
			_ = l.abandon(ctx)
		}
	}()
	stop := l.keepAlive(detached, cancel)
	defer stop()
	resp, err := fn(withHeld(detached, l.op.shared, l.op.roomKey()), l)
	returned = true
	stop()
	if err != nil {
		l.giveUp(ctx, err)
		return nil, &workError{err}
	}
	return l.settle(ctx, resp)
}

// giveUp ends the lease after an error of fn. If that fails too the lease lapses by itself.
func (l *Lease) giveUp(ctx context.Context, err error) {
	if isTransient(err) && l.handedOut() <= 1 && !l.row().inherited && l.release(ctx) == nil {
		return
	}
	_ = l.abandon(ctx)
}

// settle records fn's answer, unless fn ended the lease itself.
func (l *Lease) settle(ctx context.Context, resp *Response) (*Response, error) {
	switch l.current() {
	case leaseReleased:
		return unrecorded(resp), nil
	case leaseAbandoned:
		// a CompleteTx before it may have committed
		if recorded, err := l.recordedAnswer(ctx); err == nil && !recorded.Replayed {
			return recorded, nil
		}
		return nil, ErrOutcomeUnknown
	case leaseLost:
		return l.recordedAnswer(ctx)
	case leaseCompleting: // fn's own Complete failed, because its record was not confirmed or because the key is another's
		recorded, err := l.recordedAnswer(ctx)
		if errors.Is(err, ErrLeaseLost) && !l.isGone(ctx) {
			err = ErrCommitUnknown
		}
		return recorded, err
	case leaseCompleted:
		return l.recordedAnswer(ctx)
	case leaseCompletedTx:
		if recorded, err := l.recordedAnswer(ctx); !errors.Is(err, ErrLeaseLost) {
			return recorded, err
		}
		if resp == nil { // its transaction did not commit, and fn has no other answer
			l.set(leaseOpen)
			_ = l.abandon(ctx)
			return nil, fmt.Errorf("%w: the transaction of CompleteTx did not commit", ErrOutcomeUnknown)
		}
	}
	recorded, err := l.complete(ctx, resp)
	if errors.Is(err, ErrLeaseLost) {
		return l.recordedAnswer(ctx)
	}
	return recorded, err
}

// unrecorded is fn's answer after it gave the key back: its own caller's alone.
func unrecorded(resp *Response) *Response {
	if resp == nil {
		return new(Response)
	}
	own := *resp
	own.Replayed, own.BodyDropped, own.CompletedAt = false, false, time.Time{}
	return &own
}

// recordedAnswer is the answer that stands for the key, whoever recorded it; ErrLeaseLost where none does.
func (l *Lease) recordedAnswer(ctx context.Context) (*Response, error) {
	row, err := l.load(ctx)
	if err != nil {
		return nil, errors.Join(ErrCommitUnknown, err)
	}
	if v, err := row.Verdict(); v != engine.Finished {
		return nil, fmt.Errorf("%w: %v", ErrLeaseLost, err) // that the rival is in flight is not this call's kind of failure
	}
	resp := row.replay()
	resp.Replayed = row.loaded.ClaimID != row.claimID
	return resp, nil
}
