package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pgidem/pgidem/gen"
)

// Queued is one statement of the user's.
type Queued struct {
	SQL       string
	Arguments []any
}

// BatchRow is a Row whose answer the user's statements record.
type BatchRow interface {
	Row
	Gate(*Trip) // adds the statement that raises IDM02 unless the row is this call's, and tells those behind it whose row it is
	// Answered adds the statement that reads the recorded answer, and raises IDM03 where there is none. The COMMIT behind it is to be
	// durable and have this statement_timeout, whatever the user's statements set.
	Answered(t *Trip, timeout string)
}

// WorkError is an error of the user's statements.
type WorkError struct{ Err error }

func (e *WorkError) Error() string { return e.Err.Error() }
func (e *WorkError) Unwrap() error { return e.Err }

// DoBatch is Do for work that is statements which record the answer themselves: all of it, from BEGIN to COMMIT, travels in one
// round trip. An error of theirs comes back as *WorkError.
//
// COMMIT is on its way with the claim, so nothing is cut off: a caller that gives up gets 5 s more of waiting, and one whose
// server is silent waits for a lease longer than it would for the claim alone; then the row is read back.
func (e Engine) DoBatch(ctx context.Context, row BatchRow, budget Budget, work []Queued) (Row, Verdict, error) {
	for _, q := range work {
		if err := new(owner).check(q.SQL); err != nil {
			return row, Refused, err
		}
		if !isOneStatement(q.SQL) { // which query mode simple_protocol would let pass, with results that are not counted on
			return row, Refused, fmt.Errorf("%q is not one statement: queue each by itself", q.SQL)
		}
	}
	budget = budget.start()
	conn, err := e.acquire(ctx, budget)
	if err != nil {
		return row, Refused, err
	}
	on := &line{conn: conn.Conn(), release: conn.Release}
	if ctx.Err() != nil {
		on.end(ctx)
		return row, Refused, context.Cause(ctx)
	}
	bounded, cancel := context.WithDeadline(context.WithoutCancel(ctx), budget.deadline().Add(budget.Lease))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(commitWait, cancel) })()
	frame := &batch{row: row, work: work}
	c := claim{row: row, budget: budget, frame: frame, on: on}
	v, err := c.run(bounded)
	end := frame.end(on)
	on.end(ctx)
	switch end {
	case doubtful:
		return e.readBackBatch(ctx, row, frame.err)
	case theirs:
		return row, Refused, &WorkError{unplaced(frame.err)}
	case endedByThem:
		return row, Refused, e.markUnknown(ctx, row, fmt.Errorf("%w: a statement ended it: %w", ErrTxOwned, frame.err))
	case unanswered:
		return row, Refused, fmt.Errorf("%w: %w", ErrNoAnswer, frame.err)
	}
	return row, v, err
}

// readBackBatch finds out what became of a batch whose COMMIT went unanswered. Its claim travelled with that COMMIT, so that no row
// stands proves nothing: it may still arrive.
func (e Engine) readBackBatch(ctx context.Context, row Row, cause error) (Row, Verdict, error) {
	found, v, err := e.readBack(ctx, row, cause)
	if errors.Is(err, ErrUnavailable) {
		err = fmt.Errorf("%w: nothing of it stands yet: %w", ErrCommitUnknown, cause)
	}
	return found, v, err
}

// batch is atomic mode's in one trip: begun with the claim, and committed behind the work.
type batch struct {
	row  BatchRow
	work []Queued
	trip *Trip // the last
	from int   // where in it the work stands
	err  error // of the last
}

func (f *batch) open(t *Trip) {
	t.at(atBegin, (*Trip).Begin)
	f.trip = t
}

func (f *batch) close(t *Trip) {
	t.at(atClaim, f.row.Gate)
	f.from = t.batch.Len()
	for _, q := range f.work {
		t.at(atWork, func(t *Trip) {
			t.Add(func(ctx context.Context, db gen.DBTX) error {
				_, err := db.Exec(ctx, q.SQL, q.Arguments...)
				return err
			})
		})
	}
	t.at(atAnswer, func(t *Trip) { f.row.Answered(t, milliseconds(writeWait)) })
	t.at(atCommit, (*Trip).Commit)
}

func (f *batch) undo() string { return "ROLLBACK" }

func (f *batch) sent(_ pgx.Tx, err error) { f.err = err }

func (f *batch) idle() time.Duration { return 0 } // the client is silent in it only while the server works
