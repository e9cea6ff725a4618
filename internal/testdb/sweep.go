package testdb

import (
	"context"
	_ "embed"

	"github.com/jackc/pgx/v5"
)

//go:embed abandoned.sql
var abandoned string

// sweep drops databases that nobody will use again: those that killed runs
// have left, those of failed tests after a day, and templates of other schemas
// that no run has used for a day. It does nothing while another run makes a
// database, or sweeps. One sweep drops at most 64; the next run goes on.
func (r *run) sweep(ctx context.Context) error {
	var alone bool
	err := r.conn.QueryRow(ctx, "SELECT pg_try_advisory_lock($1, $2)", lockSpace, makingKey).Scan(&alone)
	if err != nil || !alone {
		return err
	}
	defer r.conn.Exec(ctx, "SELECT pg_advisory_unlock($1, $2)", lockSpace, makingKey)

	rows, err := r.conn.Query(ctx, abandoned, pgx.NamedArgs{
		"role": role, "lock_space": lockSpace,
		"run": runSignature, "kept": keptSignature, "template": templateSignature,
	})
	if err != nil {
		return err
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	for _, name := range names {
		quoted := pgx.Identifier{name}.Sanitize()
		if _, err := r.conn.Exec(ctx, "ALTER DATABASE "+quoted+" IS_TEMPLATE false"); err != nil {
			return err
		}
		if _, err := r.conn.Exec(ctx, "DROP DATABASE "+quoted+" WITH (FORCE)"); err != nil {
			return err
		}
	}
	return nil
}
