package bench

import (
	"context"
	"errors"
	"log/slog"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

// queue is River's: a job that is unique by its key is inserted in the transaction of the charge, and whoever finds one does not
// charge. Nobody works the jobs. It keeps no answer: a replay learns that there was one.
type queue struct {
	pool   *pgxpool.Pool
	client *river.Client[pgx.Tx]
}

type payment struct {
	Key string `json:"key" river:"unique"`
}

func (payment) Kind() string { return "payment" }

func migrateRiver(ctx context.Context, pool *pgxpool.Pool) error {
	m, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	_, err = m.Migrate(ctx, rivermigrate.DirectionUp, nil)
	return err
}

func newQueue(pool *pgxpool.Pool) (*queue, error) {
	client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{Logger: slog.New(slog.DiscardHandler)})
	return &queue{pool, client}, err
}

func (q *queue) insert(ctx context.Context, key string) error {
	return pgx.BeginFunc(ctx, q.pool, func(tx pgx.Tx) error {
		known, err := q.known(ctx, tx, key)
		switch {
		case err != nil:
			return err
		case known:
			return errAnswer
		}
		return charge(ctx, tx, key)
	})
}

func (q *queue) replays(ctx context.Context, key string) error {
	return pgx.BeginFunc(ctx, q.pool, func(tx pgx.Tx) error {
		known, err := q.known(ctx, tx, key)
		if err == nil && !known {
			return errors.New("a finished key was inserted")
		}
		return err
	})
}

func (q *queue) known(ctx context.Context, tx pgx.Tx, key string) (bool, error) {
	job, err := q.client.InsertTx(ctx, tx, payment{key}, &river.InsertOpts{UniqueOpts: river.UniqueOpts{ByArgs: true}})
	if err != nil {
		return false, err
	}
	return job.UniqueSkippedAsDuplicate, nil
}
