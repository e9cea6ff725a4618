package house

import (
	"context"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5"

	"github.com/pgidem/pgidem/sql/schema"
)

// Migrate applies all migrations to an empty database, each in a transaction of its own.
func Migrate(ctx context.Context, url string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	names, err := fs.Glob(schema.FS, "*.up.sql") // in the order of their numbers, which all have six digits
	if err != nil {
		return err
	}
	for _, name := range names {
		text, err := fs.ReadFile(schema.FS, name)
		if err != nil {
			return err
		}
		if _, err := conn.Exec(ctx, string(text)); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}
