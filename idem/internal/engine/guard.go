package engine

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// guard is the transaction that fn gets: everything a pgx.Tx does but end itself. What would end it is refused before it
// is sent, and remembered: the call fails with ErrTxOwned even if fn ignores the refusal.
type guard struct {
	pgx.Tx
	owner *owner
	// nested is set on a savepoint that fn opened with Begin: that one fn may end.
	nested bool
}

// owner is what the guards of one call share.
type owner struct {
	refused error
	closed  bool // fn has returned
}

func (o *owner) refuse(what string) error {
	if o.refused == nil {
		o.refused = fmt.Errorf("%w: %s was refused", ErrTxOwned, what)
	}
	return o.refused
}

// check says whether sql may be sent.
func (o *owner) check(sql string) error {
	if o.closed {
		return pgx.ErrTxClosed
	}
	if endsTransaction(sql) {
		return o.refuse(fmt.Sprintf("%q", sql))
	}
	return nil
}

func (g *guard) Begin(ctx context.Context) (pgx.Tx, error) {
	if g.owner.closed {
		return nil, pgx.ErrTxClosed
	}
	tx, err := g.Tx.Begin(ctx)
	if err != nil {
		return nil, err
	}
	return &guard{Tx: tx, owner: g.owner, nested: true}, nil
}

func (g *guard) Commit(ctx context.Context) error {
	switch {
	case g.owner.closed:
		return pgx.ErrTxClosed
	case g.nested:
		return g.Tx.Commit(ctx)
	}
	return g.owner.refuse("Commit")
}

// Rollback after fn has returned does nothing, so a deferred one is safe.
func (g *guard) Rollback(ctx context.Context) error {
	switch {
	case g.owner.closed:
		return pgx.ErrTxClosed
	case g.nested:
		return g.Tx.Rollback(ctx)
	}
	return g.owner.refuse("Rollback")
}

func (g *guard) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	if err := g.owner.check(sql); err != nil {
		return pgconn.CommandTag{}, err
	}
	return g.Tx.Exec(ctx, sql, args...)
}

func (g *guard) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	if err := g.owner.check(sql); err != nil {
		return refusal(err).Query()
	}
	return g.Tx.Query(ctx, sql, args...)
}

func (g *guard) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	if err := g.owner.check(sql); err != nil {
		return refusal(err).QueryRow()
	}
	return g.Tx.QueryRow(ctx, sql, args...)
}

func (g *guard) Prepare(ctx context.Context, name, sql string) (*pgconn.StatementDescription, error) {
	if err := g.owner.check(sql); err != nil {
		return nil, err
	}
	return g.Tx.Prepare(ctx, name, sql)
}

func (g *guard) SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	for _, q := range b.QueuedQueries {
		if err := g.owner.check(q.SQL); err != nil {
			return pgx.FailedBatchResults(b, err)
		}
	}
	return g.Tx.SendBatch(ctx, b)
}

func (g *guard) CopyFrom(ctx context.Context, table pgx.Identifier, columns []string, rows pgx.CopyFromSource) (int64, error) {
	if g.owner.closed {
		return 0, pgx.ErrTxClosed
	}
	return g.Tx.CopyFrom(ctx, table, columns, rows)
}

// LargeObjects is refused: its methods would go on below the guard. pgx gives it no error to return, so what fn does with
// it works and is rolled back.
func (g *guard) LargeObjects() pgx.LargeObjects {
	_ = g.owner.refuse("LargeObjects")
	return g.Tx.LargeObjects()
}

// refusal reports err from every method: a Row and Rows are read before their error is looked at.
func refusal(err error) pgx.BatchResults { return pgx.FailedBatchResults(new(pgx.Batch), err) }
