package idemtest_test

import (
	"context"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/peterldowns/pgtestdb"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/idem/idemhttp"
	"github.com/pgidem/pgidem/internal/devpg"
	"github.com/pgidem/pgidem/internal/testdb"
)

// The example that users copy makes databases that the product accepts, one a test, all from one template.
func TestMigratorForPgtestdbMakesTheSchema(t *testing.T) {
	t.Parallel()
	conf := strangersConfig(t)
	for range 2 {
		t.Run("a test", func(t *testing.T) {
			pool := newPool(t, conf)
			store := &idem.Store{Pool: pool}
			t.Cleanup(store.Close)
			if err := store.Check(t.Context()); err != nil {
				t.Error(err)
			}
			key := newKey("k")
			if resp, err := store.Do(t.Context(), key, func(context.Context, pgx.Tx) (*idem.Response, error) { return nil, nil }); err != nil || resp.Replayed {
				t.Errorf("%+v, %v: the database is not the test's own", resp, err)
			}
			var recorded int
			if err := pool.QueryRow(t.Context(), "SELECT version FROM idem_migrations").Scan(&recorded); err != nil || recorded == 0 {
				t.Errorf("version %d, %v", recorded, err)
			}
		})
	}
}

// strangersConfig is how pgtestdb reaches a server without our testdb, which cleans up after its own alone. The role is new, for
// pgtestdb makes templates by role, and what it owns is dropped with it.
func strangersConfig(t *testing.T) pgtestdb.Config {
	t.Helper()
	at := os.Getenv("PGIDEM_TEST_URL")
	if at == "" {
		at = testdb.Server(t, devpg.Options{}).URL
	}
	server, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	options := server.Query()
	options.Del("default_query_exec_mode")
	password, _ := server.User.Password()
	role := pgtestdb.Role{Username: "idemtest_" + strings.ReplaceAll(idemhttp.NewKey(), "-", ""), Password: "idemtest", Capabilities: "NOSUPERUSER"}
	t.Cleanup(func() { dropRole(t, at, role.Username) })
	return pgtestdb.Config{
		DriverName: "pgx", User: server.User.Username(), Password: password, Host: server.Hostname(), Port: server.Port(),
		Database: strings.TrimPrefix(server.Path, "/"), Options: options.Encode(), TestRole: &role,
	}
}

func dropRole(t *testing.T, at, role string) {
	t.Helper()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, at)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	rows, _ := conn.Query(ctx, "SELECT datname::text FROM pg_database WHERE pg_get_userbyid(datdba) = $1", role)
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	statements := []string{}
	for _, name := range names {
		statements = append(statements, "ALTER DATABASE "+name+" IS_TEMPLATE false", "DROP DATABASE "+name+" WITH (FORCE)")
	}
	for _, statement := range append(statements, "DROP ROLE IF EXISTS "+role) {
		if _, err := conn.Exec(ctx, statement); err != nil {
			t.Errorf("%s: %v", statement, err)
		}
	}
}
