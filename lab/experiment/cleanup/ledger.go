package cleanup

import (
	"context"
	_ "embed"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// shop is a way to handle purchases.
type shop interface {
	buy(ctx context.Context, r request) answer
}

// ledger claims the key in a transaction of its own, which commits, and then works in another one. What it does when the work
// fails is its error path.
type ledger struct {
	pool  *pgxpool.Pool
	claim string // the statement
	work  work
	fails errorPath
	story *story
}

// errorPath cleans up after work that has failed in tx, and ends tx. Its error is the handler's.
type errorPath func(ctx context.Context, l *ledger, tx pgx.Tx, key string, cause error) error

var (
	//go:embed claim.sql
	claimSQL string
	//go:embed claim_failed.sql
	claimFailedSQL string
	//go:embed look.sql
	lookSQL string
	//go:embed finish.sql
	finishSQL string
	//go:embed mark_failed.sql
	markFailedSQL string
	//go:embed delete_claim.sql
	deleteClaimSQL string
)

func (l *ledger) buy(ctx context.Context, r request) answer {
	a := l.handle(ctx, r)
	l.story.say("the client is told", a.String())
	return a
}

func (l *ledger) handle(ctx context.Context, r request) answer {
	mine, err := gets(ctx, l.pool, l.claim, r.key)
	l.story.say("INSERT the claim, and commit", rowOr(mine, err))
	switch {
	case err != nil:
		return failed(err)
	case !mine:
		return l.look(ctx, r.key)
	}
	tx, err := l.pool.Begin(ctx)
	if err != nil {
		return failed(err)
	}
	err = l.work(ctx, tx, r)
	l.story.say(workStep, okOr(err))
	if err == nil {
		_, err = tx.Exec(ctx, finishSQL, r.key)
	}
	switch {
	case err == nil:
		err = tx.Commit(ctx)
	case errors.Is(err, errKilled):
		_ = tx.Rollback(ctx) // the server does that when the client is gone
		return noAnswer
	default:
		err = l.fails(ctx, l, tx, r.key, err)
	}
	if err != nil {
		return failed(err)
	}
	return charged
}

// look is what a caller is told whose key is another's.
func (l *ledger) look(ctx context.Context, key string) answer {
	a, err := look(ctx, l.pool, key, l.story)
	if err != nil {
		return failed(err)
	}
	return a
}

func look(ctx context.Context, db querier, key string, told *story) (answer, error) {
	var status string
	err := db.QueryRow(ctx, lookSQL, key).Scan(&status)
	told.say(selectStep, status+errorText(err))
	switch {
	case err != nil:
		return answer{}, err
	case status == "completed":
		return replayed, nil
	}
	return inProgress, nil
}

// querier is a pool or a transaction.
type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// gets reports whether a claim has returned a row.
func gets(ctx context.Context, db querier, sql, key string) (bool, error) {
	var got string
	err := db.QueryRow(ctx, sql, key).Scan(&got)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}
