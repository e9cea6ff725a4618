package idem

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pgidem/pgidem/gen"
	"github.com/pgidem/pgidem/idem/internal/engine"
)

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
	err := l.op.shared.engine.Write(ctx, l.bound(), func(t *engine.Trip) (keep func()) {
		var completed *time.Time
		t.Add(func(ctx context.Context, db gen.DBTX) (err error) {
			completed, err = q.KeyComplete(ctx, db, arg)
			return ignoreNoRows(err)
		})
		return func() { at = completed }
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCommitUnknown, err)
	}
	row.loaded = &gen.KeyLoadRow{Status: status, CompletedAt: at}
	if at == nil { // no row fitted: finished by an earlier try of this very completion, or lost
		stands, err := l.load(ctx)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrCommitUnknown, err)
		}
		row.loaded = stands.loaded
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
