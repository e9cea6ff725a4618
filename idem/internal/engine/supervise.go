package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// ending is how the work left its transaction.
type ending int

const (
	kept   ending = iota // to be completed, or rolled back if there is an error
	undone               // to be completed without the work's rows
	ended                // ended while the work ran, past the guard
)

// supervise runs work in a guarded transaction and says what became of it. A refused Commit, an SQL error that work ignored
// and a result left open are errors, whatever work returned; work's own error comes back as it is. A panic goes on up; the
// caller's deferred clean-up undoes.
func supervise(ctx context.Context, tx pgx.Tx, work Work) (ending, error) {
	o := new(owner)
	defer func() { o.closed = true }()
	undo, err := work(ctx, &guard{Tx: tx, owner: o})

	conn := tx.Conn().PgConn()
	switch {
	case conn.IsClosed():
		if err == nil {
			err = errors.New("the connection was lost while fn ran")
		}
		return kept, err
	case conn.TxStatus() == 'I':
		return ended, errors.Join(fmt.Errorf("%w: it ended before fn returned, past the guard (tx.Conn(), a procedure)", ErrTxOwned), err)
	case o.refused != nil:
		return kept, errors.Join(o.refused, err)
	case err != nil:
		return kept, err
	case conn.IsBusy():
		return kept, errors.New("fn returned with an open result: close its Rows or BatchResults")
	case undo:
		return undone, nil
	case conn.TxStatus() == 'E':
		return kept, fmt.Errorf("fn ignored an SQL error: %w", pgx.ErrTxCommitRollback)
	}
	return kept, nil
}

// cleanWait bounds rolling back.
const cleanWait = 5 * time.Second

// clean leaves conn outside a transaction, or closed.
func clean(ctx context.Context, conn *pgx.Conn) {
	pg := conn.PgConn()
	if pg.IsClosed() || pg.TxStatus() == 'I' && !pg.IsBusy() {
		return
	}
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanWait)
	defer cancel()
	if pg.IsBusy() {
		_ = conn.Close(bounded) // a result left open: the server rolls back when the connection goes
		return
	}
	if err := words(bounded, conn, "ROLLBACK"); err != nil {
		_ = conn.Close(bounded)
	}
}

// undoSavepoints rolls the user's transaction back to where DoTx found it. A connection that is lost or busy cannot: then the
// user's own Rollback is all that is left, and the error says so.
func undoSavepoints(ctx context.Context, tx pgx.Tx, frame *savepoint) error {
	pg := tx.Conn().PgConn()
	switch {
	case pg.IsClosed(), pg.TxStatus() == 'I':
		return nil // nothing of it stands
	case pg.IsBusy():
		return errors.New("the key could not be undone because of an open result: roll back the transaction")
	}
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanWait)
	defer cancel()
	if err := words(bounded, tx, frame.undo()); err != nil {
		return fmt.Errorf("the key could not be undone, roll back the transaction: %w", err)
	}
	return nil
}
