package cleanup

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// insideThenRollBack is the article's broken error path: it marks the key as failed in the transaction that has just failed, and
// then rolls that back. Where the UPDATE is refused, its error is the one that the caller gets, as with an exception.
func insideThenRollBack(ctx context.Context, l *ledger, tx pgx.Tx, key string, cause error) error {
	tag, err := tx.Exec(ctx, markFailedSQL, key)
	l.story.say(cleanupStep, rowsOr(tag.RowsAffected(), err))
	if err != nil {
		cause = err
	}
	l.story.say(rollbackStep, okOr(tx.Rollback(ctx)))
	return cause
}

// markOutside rolls back first, and marks the key on a connection that has no transaction.
func markOutside(ctx context.Context, l *ledger, tx pgx.Tx, key string, cause error) error {
	return outside(ctx, l, tx, key, cause, markFailedSQL)
}

// deleteOutside rolls back first, and then deletes the claim: the article's advice.
func deleteOutside(ctx context.Context, l *ledger, tx pgx.Tx, key string, cause error) error {
	return outside(ctx, l, tx, key, cause, deleteClaimSQL)
}

func outside(ctx context.Context, l *ledger, tx pgx.Tx, key string, cause error, sql string) error {
	if err := tx.Rollback(ctx); err != nil {
		return err
	}
	if _, err := l.pool.Exec(ctx, sql, key); err != nil {
		return err
	}
	return cause
}
