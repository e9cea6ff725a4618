package idem

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pgidem/pgidem/gen"
	"github.com/pgidem/pgidem/idem/internal/engine"
)

// Lease is the right to run the work of one key, for Policy.Lease from the claim or the last Extend. It holds no connection.
// Every write names its fence, so a holder that has lost its key changes nothing. Safe for concurrent use.
//
// What is called outside, with no downstream key, is invisible to Release: only the caller knows that it happened.
type Lease struct {
	op *operation

	mu         sync.Mutex
	state      leaseState
	downstream map[string]bool // names that DownstreamKey was asked for
}

type leaseState int

const (
	leaseOpen leaseState = iota
	leaseCompleting
	leaseCompleted
	leaseCompletedTx // in a transaction of the user's, which may yet roll back
	leaseReleased
	leaseAbandoned
)

func (l *Lease) row() *keyRow { return l.op.row }

// Key is the key as Claim or Hold was given it.
func (l *Lease) Key() Key { return l.op.key }

// Fence is higher than that of every earlier holder of the key, whatever became of them.
func (l *Lease) Fence() int64 { return l.row().claimed.Fence }

// Attempt counts the claims of this life of the key, from 1.
func (l *Lease) Attempt() int { return int(l.row().claimed.Attempts) }

// Request is what Key.Request held; nil where it held nothing.
func (l *Lease) Request() []byte { return bytesOrNull(l.op.key.Request) }

// DownstreamKey is the idempotency key to send with the call named step: the same for every attempt at this request, over
// takeover and failover, and another one for another request. 36 characters in UUID form (RFC 9562, version 8); dashes may be
// dropped. Asking for one means that the call may be made: Release leaves the key unknown from then on.
func (l *Lease) DownstreamKey(step string) string {
	l.mu.Lock()
	if l.downstream == nil {
		l.downstream = make(map[string]bool)
	}
	l.downstream[step] = true
	l.mu.Unlock()

	k := l.row().key
	digest := fingerprintDigest("pgidem downstream key 1\n", [][]byte{
		[]byte(k.Tenant), []byte(k.Endpoint), []byte(k.ID), l.row().claimed.Fingerprint, []byte(step),
	})
	id := []byte(digest[1:17])
	id[6] = id[6]&0x0f | 0x80
	id[8] = id[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}

// Extend moves the end of the lease to Policy.Lease from now; a lapsed lease that nobody took is extended too. ErrLeaseLost:
// the key is another's, or finished. Hold does this by itself.
func (l *Lease) Extend(ctx context.Context) error {
	return l.report(ctx, "extend", l.extend(l.writer(ctx)))
}

// extend sends the extension by way of write.
func (l *Lease) extend(write func(func(*engine.Trip)) error) error {
	changed, err := l.change(write, func(ctx context.Context, db gen.DBTX) (int64, error) {
		return q.LeaseExtend(ctx, db, gen.LeaseExtendParams{
			Lease: l.op.policy.Lease, TenantID: l.row().key.Tenant, Endpoint: l.row().key.Endpoint, Key: l.row().key.ID,
			Fence: l.Fence(), ClaimID: l.row().claimID,
		})
	})
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	case !changed:
		return ErrLeaseLost
	}
	return nil
}

// Complete records the answer, which is what every later caller gets, and ends the lease. It succeeds on a lapsed lease that
// nobody took, and again for a completion whose confirmation was lost. ErrLeaseLost: the key is another's and its answer
// counts. ErrCommitUnknown: the record could not be confirmed; the same key will tell.
func (l *Lease) Complete(ctx context.Context, r *Response) error {
	_, err := l.complete(ctx, r)
	return l.report(ctx, "complete", err)
}

func (l *Lease) complete(ctx context.Context, r *Response) (*Response, error) {
	if r == nil {
		r = new(Response)
	}
	if err := checkAnswer(r); err != nil {
		return nil, err
	}
	if err := l.enter(leaseCompleting, leaseOpen, leaseCompleting, leaseCompletedTx); err != nil {
		return nil, err
	}
	row := l.row().Fresh().(*keyRow)
	row.claimed, row.answer = l.row().claimed, r
	status, arg := row.completion()
	var at *time.Time
	err := l.op.shared.engine.Write(ctx, l.bound(), func(t *engine.Trip) {
		t.Add(func(ctx context.Context, db gen.DBTX) (err error) {
			at, err = q.KeyComplete(ctx, db, arg)
			return ignoreNoRows(err)
		})
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCommitUnknown, err)
	}
	row.loaded = &gen.KeyLoadRow{Status: status, CompletedAt: at}
	if at == nil { // no row fitted: finished by an earlier try of this very completion, or lost
		if err := l.load(ctx, row); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrCommitUnknown, err)
		}
		if row.loaded == nil || row.loaded.ClaimID != row.claimID || !isFinished(row.loaded.Status) {
			return nil, ErrLeaseLost
		}
	}
	l.set(leaseCompleted)
	return row.recorded(), nil
}

// CompleteTx records the answer as part of tx, beside local rows that are to commit with it. It is to be the last statement
// before Commit, for its row lock blocks the heartbeat, and to be called outside savepoints: a lost lease raises an SQL error
// (ErrLeaseLost), so that tx cannot commit even if the caller ignores it, unless it rolls back to a savepoint. The key is
// finished once tx has committed; if it rolls back the lease goes on.
func (l *Lease) CompleteTx(ctx context.Context, tx pgx.Tx, r *Response) error {
	return l.report(ctx, "complete", l.completeTx(ctx, tx, r))
}

func (l *Lease) completeTx(ctx context.Context, tx pgx.Tx, r *Response) error {
	if r == nil {
		r = new(Response)
	}
	if err := checkAnswer(r); err != nil {
		return err
	}
	if err := l.enter(leaseCompletedTx, leaseOpen, leaseCompletedTx); err != nil {
		return err
	}
	row := l.row().Fresh().(*keyRow)
	row.claimed, row.answer = l.row().claimed, r
	t := new(engine.Trip)
	row.Complete(t)
	_, err := t.Send(ctx, tx)
	return engine.LeaseLost(err)
}

// Release says that nothing happened: the key is given back at once, and the next caller runs. If DownstreamKey was asked for,
// something may have happened after all: then the key is left unknown, as Abandon does, and the error is ErrOutcomeUnknown.
// Refused once Complete was tried.
func (l *Lease) Release(ctx context.Context) error {
	if l.handedOut() > 0 {
		if err := l.abandon(ctx); err != nil {
			return l.report(ctx, "release", err)
		}
		return l.report(ctx, "release", fmt.Errorf("%w: a downstream key was handed out, so the key was not given back", ErrOutcomeUnknown))
	}
	return l.report(ctx, "release", l.release(ctx))
}

func (l *Lease) release(ctx context.Context) error {
	if err := l.enter(leaseReleased, leaseOpen, leaseReleased); err != nil {
		return err
	}
	changed, err := l.change(l.writer(ctx), func(ctx context.Context, db gen.DBTX) (int64, error) {
		return q.LeaseRelease(ctx, db, gen.LeaseReleaseParams{
			TenantID: l.row().key.Tenant, Endpoint: l.row().key.Endpoint, Key: l.row().key.ID,
			Fence: l.Fence(), ClaimID: l.row().claimID,
		})
	})
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	if changed {
		return nil
	}
	row := l.row().Fresh().(*keyRow)
	if err := l.load(ctx, row); err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	if row.loaded != nil && row.loaded.Status == statusReleased && row.loaded.Fence == l.Fence() {
		return nil // an earlier try whose confirmation was lost
	}
	return ErrLeaseLost
}

// Abandon ends the lease at once because the outcome is unknown: Policy.Stale applies to the next caller. It does nothing after
// Complete or Release, heeds no cancellation, and so is the one to defer.
func (l *Lease) Abandon(ctx context.Context) error {
	return l.report(ctx, "abandon", l.abandon(ctx))
}

func (l *Lease) abandon(ctx context.Context) error {
	if l.enter(leaseAbandoned, leaseOpen) != nil {
		return nil
	}
	_, err := l.change(l.writer(ctx), func(ctx context.Context, db gen.DBTX) (int64, error) {
		return q.LeaseAbandon(ctx, db, gen.LeaseAbandonParams{
			TenantID: l.row().key.Tenant, Endpoint: l.row().key.Endpoint, Key: l.row().key.ID,
			Fence: l.Fence(), ClaimID: l.row().claimID,
		})
	})
	if err != nil {
		return fmt.Errorf("%w: the lease will lapse by itself: %w", ErrUnavailable, err)
	}
	return nil // a lease that is lost has ended too
}

// enter moves the lease to a state from one of those that allow it.
func (l *Lease) enter(to leaseState, from ...leaseState) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range from {
		if l.state == s {
			l.state = to
			return nil
		}
	}
	switch l.state {
	case leaseReleased:
		return errors.Join(ErrLeaseLost, errors.New("it was released"))
	case leaseAbandoned:
		return errors.Join(ErrLeaseLost, errors.New("it was abandoned"))
	}
	return errors.New("the lease was already completed, or completing it was tried")
}

func (l *Lease) set(s leaseState) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state = s
}

func (l *Lease) current() leaseState {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state
}

// handedOut counts the downstream keys that were asked for.
func (l *Lease) handedOut() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.downstream)
}

// bound is how long a holder's statement waits for others: a third of the lease, so that a lease never lapses in a queue.
func (l *Lease) bound() engine.Bound {
	return engine.Bound{Statement: min(l.op.policy.Lease/3, 2*time.Second)}
}

func (l *Lease) writer(ctx context.Context) func(func(*engine.Trip)) error {
	return func(statement func(*engine.Trip)) error {
		return l.op.shared.engine.Write(ctx, l.bound(), statement)
	}
}

// change sends one conditional update and reports whether it fitted.
func (l *Lease) change(write func(func(*engine.Trip)) error, update func(context.Context, gen.DBTX) (int64, error)) (bool, error) {
	var rows int64
	err := write(func(t *engine.Trip) {
		t.Add(func(ctx context.Context, db gen.DBTX) (err error) {
			rows, err = update(ctx, db)
			return err
		})
	})
	return rows > 0, err
}

// load reads the key as it stands into row.
func (l *Lease) load(ctx context.Context, row *keyRow) error {
	return l.op.shared.engine.Write(ctx, l.bound(), row.Load)
}

// report dresses err and tells Observe.
func (l *Lease) report(ctx context.Context, name string, err error) error {
	o := *l.op
	o.name, o.began = name, time.Now()
	_, err = o.close(ctx, nil, err)
	return err
}
