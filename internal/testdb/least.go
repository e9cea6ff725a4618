package testdb

import (
	"context"
	"fmt"
	"os"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/peterldowns/pgtestdb"

	"github.com/pgidem/pgidem/sql"
)

// LeastRole is the role that pools work as while PGIDEM_TEST_ROLE is "least":
// a service and a sweep by the rights of sql/roles.sql, which may make tables
// of its own in schema public. RESET ROLE brings back the database's owner,
// for a test that has to change schema idem itself.
const LeastRole = "pgidem_least"

func least() bool { return os.Getenv("PGIDEM_TEST_ROLE") == "least" }

// makeLeast makes the roles and grants them in a new database. Roles belong to
// the whole server, so one process at a time does it.
func makeLeast(ctx context.Context, admin pgtestdb.Config, database string) error {
	server, err := pgx.Connect(ctx, admin.URL())
	if err != nil {
		return err
	}
	defer server.Close(ctx)
	if _, err := server.Exec(ctx, "SELECT pg_advisory_lock(hashtext('pgidem_least'))"); err != nil {
		return err
	}
	admin.Database = database
	conn, err := pgx.Connect(ctx, admin.URL())
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, sql.Roles+`
		DO $$ BEGIN
			IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '`+LeastRole+`') THEN
				CREATE ROLE `+LeastRole+` NOLOGIN;
			END IF;
		END $$;
		GRANT idem_app, idem_sweep TO `+LeastRole+`;
		GRANT `+LeastRole+` TO `+role+`;
		GRANT CREATE, USAGE ON SCHEMA public TO `+LeastRole+`;
		GRANT pg_read_all_stats TO `+LeastRole) // tests look at who waits
	if err != nil {
		return fmt.Errorf("testdb: make the least-privileged role: %w", err)
	}
	return nil
}

// asLeast makes the pool's connections work as LeastRole.
func asLeast(config *pgxpool.Config) {
	config.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, "SET ROLE "+LeastRole)
		return err
	}
}
