package main

import (
	"context"
	_ "embed"

	"github.com/jackc/pgx/v5/pgxpool"
)

var (
	//go:embed install.sql
	installSQL string
	//go:embed insert_order.sql
	insertOrderSQL string
	//go:embed insert_charge.sql
	insertChargeSQL string
	//go:embed is_charge.sql
	isChargeSQL string
	//go:embed look.sql
	lookSQL string
	//go:embed note.sql
	noteSQL string
)

// install makes schema shop where it is missing.
func install(ctx context.Context, pool *pgxpool.Pool) error {
	_, err := pool.Exec(ctx, installSQL)
	return err
}
