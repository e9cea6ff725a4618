package engine

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// commitWait is how long a call waits for the answer to its COMMIT before it reads back.
const commitWait = 5 * time.Second

// commit records row's answer and commits, in one round trip. What the server does not answer is read back on another
// connection.
func (e Engine) commit(ctx context.Context, on *line, row Row) (Row, Verdict, error) {
	defer on.end(ctx)
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitWait)
	defer cancel()
	t := new(Trip)
	t.Add(settingsWrite(Bound{})) // whatever fn made of them: its SET LOCAL must not weaken the commit
	row.Complete(t)
	t.Commit()
	_, err := on.carry(bounded, t)
	switch {
	case err == nil:
		return row, Claimed, nil
	case certain(err):
		return row, Refused, LeaseLost(err)
	}
	return e.readBack(ctx, row, err)
}

// readBack finds out what became of a transaction whose COMMIT went unanswered, on a new connection. The row is inserted
// again, unguarded, so that the insert waits for the doubtful transaction; whatever it finds is rolled back. Three ends: ours
// stands (Claimed), it was rolled back for certain (what stands now answers, ErrUnavailable where nothing does), or nobody can
// say (ErrCommitUnknown): never a guess.
func (e Engine) readBack(ctx context.Context, row Row, cause error) (Row, Verdict, error) {
	var found Row
	err := e.Reserve.Use(ctx, e.Pool, func(ctx context.Context, on *line) error {
		fresh := row.Fresh()
		t := new(Trip)
		t.Begin()
		t.Add(settingsWrite(Bound{}))
		fresh.Probe(t)
		t.Word("ROLLBACK")
		_, err := on.carry(ctx, t)
		if err == nil {
			found = fresh
		}
		return err
	})
	if err != nil {
		return row, Refused, fmt.Errorf("%w: %w", ErrCommitUnknown, errors.Join(cause, err))
	}
	v, err := found.Verdict()
	switch {
	case found.Mine():
		return found, Claimed, nil
	case v == Gone || v == Claimable:
		return found, Refused, unavailable(cause)
	}
	return found, v, err
}
