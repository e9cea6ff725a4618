package idem

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pgidem/pgidem/gen"
	"github.com/pgidem/pgidem/idem/internal/engine"
)

// Complete records the answer, which is what every later caller gets, and ends the lease. It succeeds on a lapsed lease that
// nobody took.
//
// nil means that r stands: recorded now, or earlier by this lease, in a Complete whose confirmation was lost or a CompleteTx that
// committed. ErrLeaseLost: r was not recorded, and Claim returns what was: the key is another's, or this lease had completed it
// with an answer that differs as stored, in any byte, or in a Complete that returned nil. ErrCommitUnknown: the record could not
// be confirmed; the same r again, or the same key, will tell.
func (l *Lease) Complete(ctx context.Context, r *Response) error {
	recorded, err := l.complete(ctx, r)
	if err == nil {
		l.op.remember(recorded)
		l.op.stepAside()
	}
	return l.report(ctx, "complete", err)
}

func (l *Lease) complete(ctx context.Context, r *Response) (*Response, error) {
	if r == nil {
		r = new(Response)
	}
	if err := checkAnswer(r); err != nil {
		return nil, err
	}
	if err := l.enter(leaseCompleting, leaseOpen, leaseCompleting, leaseCompletedTx, leaseHandedOver); err != nil {
		return nil, err
	}
	row := l.row().Fresh().(*keyRow)
	row.claimed, row.answer = l.row().claimed, r
	status, arg := row.completion()
	at, err := l.finish(ctx, arg)
	if err != nil {
		return nil, err
	}
	row.loaded = &gen.KeyLoadRow{Status: status, CompletedAt: at}
	if at == nil { // no row fitted: finished before by this lease, or lost
		stands, err := l.load(ctx)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrCommitUnknown, err)
		}
		row.loaded = stands.loaded
		if row.loaded == nil || row.loaded.ClaimID != row.claimID || !isFinished(row.loaded.Status) {
			return nil, ErrLeaseLost
		}
		if !isStored(row.loaded, arg) {
			l.set(leaseCompleted)
			return nil, fmt.Errorf("%w: it was completed with another answer, which stands", ErrLeaseLost)
		}
	}
	l.set(leaseCompleted)
	return row.recorded(), nil
}

// record sends the statement that finishes the key, and returns when it did; nil where no row fitted.
func (l *Lease) record(ctx context.Context, finish func(context.Context, gen.DBTX) (*time.Time, error)) (at *time.Time, err error) {
	err = l.op.shared.engine.Write(ctx, l.bound(), func(t *engine.Trip) (keep func()) {
		var finished *time.Time
		t.Add(func(ctx context.Context, db gen.DBTX) (err error) {
			finished, err = finish(ctx, db)
			return ignoreNoRows(err)
		})
		return func() { at = finished }
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCommitUnknown, err)
	}
	return at, nil
}

// isStored reports whether found is the very answer that arg records: an earlier try of the same completion, not another one.
func isStored(found *gen.KeyLoadRow, arg gen.KeyCompleteParams) bool {
	ref := func(s *string) string {
		if s == nil {
			return ""
		}
		return *s
	}
	return found.Status == arg.Status &&
		found.ResponseStatus != nil && *found.ResponseStatus == arg.ResponseStatus &&
		bytes.Equal(found.ResponseHeader, arg.ResponseHeader) &&
		bytes.Equal(found.ResponseBody, arg.ResponseBody) && (found.ResponseBody == nil) == (arg.ResponseBody == nil) &&
		ref(found.ProviderRef) == ref(arg.ProviderRef)
}

// CompleteTx records the answer as part of tx, beside local rows that are to commit with it. It is to be the last statement
// before Commit, for its row lock blocks the heartbeat, and to be called outside savepoints: a lost or ended lease raises an SQL
// error (ErrLeaseLost), so that tx cannot commit even if the caller ignores it, unless it rolls back to a savepoint. The key is
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
	ended := l.enter(leaseCompletedTx, leaseOpen, leaseCompletedTx)
	row := l.row().Fresh().(*keyRow)
	row.claimed, row.answer = l.row().claimed, r
	if ended != nil {
		row.claimed = new(claimedRow) // a fence that fits no row, for the SQL error that keeps tx from committing
	}
	t := new(engine.Trip)
	row.Complete(t)
	_, err := t.Send(ctx, tx)
	if ended != nil {
		return ended
	}
	return engine.LeaseLost(err)
}
