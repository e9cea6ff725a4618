package processor

import (
	"context"
	_ "embed"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

var (
	//go:embed install.sql
	installSQL string
	//go:embed insert.sql
	insertSQL string
	//go:embed find_key.sql
	findKeySQL string
	//go:embed find_id.sql
	findIDSQL string
	//go:embed count.sql
	countSQL string
	//go:embed reset.sql
	resetSQL string
)

// Install makes schema processor where it is missing.
func Install(ctx context.Context, pool *pgxpool.Pool) error {
	_, err := pool.Exec(ctx, installSQL)
	return err
}

// table is processor.operations.
type table struct{ pool *pgxpool.Pool }

// row is one of its rows.
type row struct {
	id      int64
	kind    kind
	request Request
	status  string
}

func (r row) receipt() Receipt {
	return Receipt{
		ID: r.kind.id(r.id), AmountCents: r.request.AmountCents, Currency: r.request.Currency, Status: r.status,
		Charge: r.request.Charge, Reference: r.request.Reference,
	}
}

// insert commits the row of a call that is carried out. false: its key is refused, because another one has it.
func (t table) insert(ctx context.Context, c call, refuses bool, status string) (row, bool, error) {
	made := row{kind: c.kind, request: c.request, status: status}
	var given *int64
	if id, ok := charge.row(c.request.Charge); ok {
		given = &id
	}
	err := t.pool.QueryRow(ctx, insertSQL, c.kind, c.key, refuses, c.request.AmountCents, c.request.Currency, c.request.Card,
		given, c.request.Reference, status).Scan(&made.id)
	return found(made, err)
}

// findKey finds the first row under a key.
func (t table) findKey(ctx context.Context, k kind, key string) (row, bool, error) {
	return t.find(ctx, k, findKeySQL, key)
}

// findID finds the row that the outside calls id.
func (t table) findID(ctx context.Context, k kind, id string) (row, bool, error) {
	number, ok := k.row(id)
	if !ok {
		return row{}, false, nil
	}
	return t.find(ctx, k, findIDSQL, number)
}

func (t table) find(ctx context.Context, k kind, sql string, by any) (row, bool, error) {
	r := row{kind: k}
	var given *int64
	err := t.pool.QueryRow(ctx, sql, k, by).Scan(&r.id, &r.request.AmountCents, &r.request.Currency, &r.request.Card, &given,
		&r.request.Reference, &r.status)
	if given != nil {
		r.request.Charge = charge.id(*given)
	}
	return found(r, err)
}

func found(r row, err error) (row, bool, error) {
	if errors.Is(err, pgx.ErrNoRows) {
		return row{}, false, nil
	}
	return r, err == nil, err
}
