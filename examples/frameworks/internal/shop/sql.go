package shop

import (
	"context"
	_ "embed"

	"github.com/jackc/pgx/v5/pgxpool"
)

var (
	//go:embed install.sql
	installSQL string
	//go:embed insert_item.sql
	insertSQL string
	//go:embed count_items.sql
	countSQL string
)

// Install makes the shop's table where it is missing.
func Install(ctx context.Context, pool *pgxpool.Pool) error {
	_, err := pool.Exec(ctx, installSQL)
	return err
}
