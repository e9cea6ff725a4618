// Package engine runs the protocol over one row: claim, bounded wait, the vanished row, the work in a guarded transaction,
// the swallowed error, the commit and its read-back. It knows no table: a Row brings the statements.
package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Engine runs calls on one pool.
type Engine struct {
	Pool    *pgxpool.Pool
	Reserve *Reserve // for what must get through while the pool is busy
	Claims  *Claims  // nil: every claim travels alone
}

// Work is what a claim is for. undo asks that its rows be rolled back and the answer be recorded all the same (a definitive
// refusal); an error rolls back both.
type Work func(ctx context.Context, tx pgx.Tx) (undo bool, err error)

// Do claims row, runs work and records its answer in one transaction on one connection: two round trips besides the work's
// own. Claimed: all of it is committed. Finished: the row that comes back holds an earlier answer. Otherwise the error says
// why not, and unless it is ErrCommitUnknown nothing was changed.
func (e Engine) Do(ctx context.Context, row Row, budget Budget, work Work) (Row, Verdict, error) {
	budget = budget.start()
	conn, err := e.acquire(ctx, budget)
	if err != nil {
		return row, Refused, err
	}
	on := &line{conn: conn.Conn(), release: conn.Release}
	giveBack := func() { on.end(ctx) }
	defer func() { giveBack() }()

	frame := &transaction{lease: budget.Lease}
	if v, err := claimRow(ctx, row, budget, frame, direct{on.conn}); err != nil || v != Claimed {
		return row, v, err
	}
	if ctx.Err() != nil {
		return row, Refused, context.Cause(ctx)
	}
	end, err := supervise(ctx, frame.tx, work)
	switch {
	case end == ended:
		return row, Refused, e.markUnknown(ctx, row, err)
	case err != nil:
		return row, Refused, err
	case end == undone:
		giveBack()
		giveBack = func() {}
		return e.Do(ctx, row.Fresh(), budget, keepNothing)
	}
	giveBack = func() {} // from here on commit has the connection
	return e.commit(ctx, on, row)
}

// keepNothing is the work of a call that only records its answer.
func keepNothing(context.Context, pgx.Tx) (bool, error) { return false, nil }

// DoTx does what Do does under a savepoint of the user's transaction, and leaves that transaction usable whatever happens.
// Claimed: it stands once the user commits.
func (e Engine) DoTx(ctx context.Context, tx pgx.Tx, row Row, budget Budget, work Work) (v Verdict, err error) {
	if status := tx.Conn().PgConn().TxStatus(); status != 'T' {
		return Refused, fmt.Errorf("the transaction given to DoTx is not usable (status %q): it has failed or ended", status)
	}
	frame := &savepoint{}
	defer func() {
		if !frame.set {
			return
		}
		if undo := undoSavepoints(ctx, tx, frame); undo != nil {
			err = errors.Join(err, undo)
		}
	}()
	if v, err := claimRow(ctx, row, budget.start(), frame, direct{tx}); err != nil || v != Claimed {
		return v, err
	}
	end, err := supervise(ctx, tx, work)
	switch {
	case end == ended:
		frame.set = false
		return Refused, e.markUnknown(ctx, row, err)
	case err != nil:
		return Refused, err
	case end == undone:
		if err := words(context.WithoutCancel(ctx), tx, undoWork); err != nil {
			return Refused, err
		}
	}
	t := new(Trip)
	row.Complete(t)
	t.Word(releaseSavepoint)
	if _, err := t.Send(context.WithoutCancel(ctx), tx); err != nil {
		return Refused, LeaseLost(err)
	}
	frame.set = false
	return Claimed, nil
}

// Claim claims row and commits the claim, on a connection that it gives back at once. A claim whose answer was lost is read
// back: used where it stands, unavailable where it does not.
func (e Engine) Claim(ctx context.Context, row Row, budget Budget) (Row, Verdict, error) {
	budget = budget.start()
	if together, ok := row.(Together); ok && e.Claims != nil && together.Coalesces() {
		return e.claimCoalesced(ctx, together, budget)
	}
	return e.claimAlone(ctx, row, budget)
}

func (e Engine) claimAlone(ctx context.Context, row Row, budget Budget) (Row, Verdict, error) {
	conn, err := e.acquire(ctx, budget)
	if err != nil {
		return row, Refused, err
	}
	on := &line{conn: conn.Conn(), release: conn.Release}
	v, err := claimRow(ctx, row, budget, single{}, on)
	on.end(ctx)
	if !errors.Is(err, ErrUnavailable) || certain(err) {
		return row, v, err
	}
	return e.readBackClaim(ctx, row, err)
}

// readBackClaim finds out whether a claim whose COMMIT went unanswered stands.
func (e Engine) readBackClaim(ctx context.Context, row Row, cause error) (Row, Verdict, error) {
	found, v, err := e.readBack(ctx, row, cause)
	if errors.Is(err, ErrCommitUnknown) {
		found, err = row.Fresh(), unavailable(err) // the claim may stand, and then it lapses: nothing ran under it
	}
	return found, v, err
}

// Read sends one statement by itself, outside of any transaction. The caller may give up until a connection is there; a statement
// under way is awaited, for pgx closes a connection whose statement is cut off.
func (e Engine) Read(ctx context.Context, budget Budget, statement Statement) error {
	budget = budget.start()
	conn, err := e.acquire(ctx, budget)
	if err != nil {
		return err
	}
	defer conn.Release()
	bounded, cancel := context.WithDeadline(context.WithoutCancel(ctx), budget.deadline())
	defer cancel()
	return statement(bounded, conn)
}

// acquire takes a connection for a claim. Here the caller may still give up: nothing was sent.
func (e Engine) acquire(ctx context.Context, budget Budget) (*pgxpool.Conn, error) {
	bounded, cancel := context.WithDeadline(ctx, budget.deadline())
	defer cancel()
	conn, err := e.Pool.Acquire(bounded)
	switch {
	case err == nil:
		return conn, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	}
	return nil, unavailable(fmt.Errorf("no connection: %w", err))
}

// claimRow claims within the budget, deaf to the caller's cancellation: a claim cut off leaves its outcome unknown.
func claimRow(ctx context.Context, row Row, budget Budget, frame frame, on carrier) (Verdict, error) {
	bounded, cancel := context.WithDeadline(context.WithoutCancel(ctx), budget.deadline())
	defer cancel()
	c := claim{row: row, budget: budget, frame: frame, on: on}
	return c.run(bounded)
}

// markUnknown makes a key of atomic mode visible to operators when its transaction was ended behind our back: the claim may
// have been committed with half of the work. cause comes back.
func (e Engine) markUnknown(ctx context.Context, row Row, cause error) error {
	err := e.Write(ctx, Bound{}, func(t *Trip) (keep func()) {
		row.MarkUnknown(t)
		return func() {}
	})
	if err != nil {
		err = fmt.Errorf("marking the key as unknown: %w", err)
	}
	return errors.Join(cause, err)
}
