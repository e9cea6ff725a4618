package idemtest_test

import (
	"context"
	"database/sql"
	"strings"
	"testing"

	"github.com/golang-migrate/migrate/v4"
	_ "github.com/golang-migrate/migrate/v4/database/pgx/v5" // pgx5://, and pgtestdb's driver "pgx"
	"github.com/golang-migrate/migrate/v4/source/iofs"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/peterldowns/pgtestdb"
	"github.com/peterldowns/pgtestdb/migrators/common"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/sql/schema"
)

// migrator makes schema idem in pgtestdb's template. Your own migrations follow in Migrate, and go into Hash.
type migrator struct{}

func (migrator) Hash() (string, error) { return common.HashDirs(schema.FS, "*.sql", ".") }

func (migrator) Migrate(_ context.Context, _ *sql.DB, conf pgtestdb.Config) error {
	files, err := iofs.New(schema.FS, ".")
	if err != nil {
		return err
	}
	url := "pgx5" + strings.TrimPrefix(conf.URL(), "postgres") + "&x-migrations-table=idem_migrations"
	m, err := migrate.NewWithSourceInstance("iofs", files, url)
	if err != nil {
		return err
	}
	defer m.Close() // pgtestdb clones nothing that is connected to
	return m.Up()
}

// newPool is a database of the test's own, gone with it.
func newPool(t *testing.T, conf pgtestdb.Config) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), pgtestdb.Custom(t, conf, migrator{}).URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

// A database for every test, with the schema in it, cloned by pgtestdb from a template that is migrated once.
func Example_pgtestdb() {
	var t *testing.T // the test's
	pool := newPool(t, pgtestdb.Config{
		DriverName: "pgx", User: "postgres", Password: "password", Host: "localhost", Port: "5433", Options: "sslmode=disable",
	})
	store := &idem.Store{Pool: pool}
	t.Cleanup(store.Close) // before the pool
}
