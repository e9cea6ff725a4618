package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/gen"
)

// commitWait is how long a call waits for the answer to its COMMIT before it reads back.
const commitWait = 5 * time.Second

var errNoAnswer = fmt.Errorf("COMMIT was not answered within %v", commitWait)

// commit records row's answer and commits, in one round trip, and gives conn back when the server has answered.
//
// COMMIT is awaited without a deadline, in a goroutine that ends with the server's answer: closing the socket would make
// pgx send a cancel request, which ends a wait for synchronous replication and leaves the commit visible but never
// replicated. Past commitWait the call stops waiting and reads back on another connection.
func (e Engine) commit(ctx context.Context, conn *pgxpool.Conn, row Row) (Row, Verdict, error) {
	t := new(Trip)
	row.Complete(t)
	t.Commit()
	answer := make(chan error, 1)
	go func() {
		_, err := t.Send(context.WithoutCancel(ctx), conn.Conn())
		clean(ctx, conn.Conn())
		conn.Release()
		answer <- err
	}()
	late := time.NewTimer(commitWait)
	defer late.Stop()
	var err error
	select {
	case err = <-answer:
	case <-late.C:
		err = errNoAnswer
	}
	switch {
	case err == nil:
		return row, Claimed, nil
	case certain(err):
		return row, Refused, LeaseLost(err)
	}
	return e.readBack(ctx, row.Fresh(), err)
}

// readBack finds out what became of a transaction whose COMMIT went unanswered, on a new connection. The row is inserted
// again, unguarded, so that the insert waits for the doubtful transaction; whatever it finds is rolled back. Three ends:
// ours stands (Claimed), it was rolled back for certain (what stands now answers; cause where nothing does), or nobody can
// say (ErrCommitUnknown): never a guess.
func (e Engine) readBack(ctx context.Context, row Row, cause error) (Row, Verdict, error) {
	err := e.Reserve.Use(ctx, e.Pool, func(ctx context.Context, on Sender) error {
		row = row.Fresh()
		t := new(Trip)
		t.Begin()
		t.Add(func(ctx context.Context, db gen.DBTX) error {
			return gen.New().SettingsWrite(ctx, db, gen.SettingsWriteParams{StatementTimeout: milliseconds(commitWait)})
		})
		row.Probe(t)
		t.Word("ROLLBACK")
		_, err := t.Send(ctx, on)
		return err
	})
	if err != nil {
		return row, Refused, fmt.Errorf("%w: %w", ErrCommitUnknown, errors.Join(cause, err))
	}
	v, err := row.Verdict()
	switch {
	case row.Mine():
		return row, Claimed, nil
	case v == Gone || v == Claimable:
		return row, Refused, unavailable(cause)
	}
	return row, v, err
}
