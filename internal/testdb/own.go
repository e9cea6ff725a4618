package testdb

import (
	"context"
	"database/sql"
	"net/url"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/peterldowns/pgtestdb"

	"github.com/pgidem/pgidem/internal/devpg"
	"github.com/pgidem/pgidem/sql/schema"
)

// Own is a server that belongs to one test.
type Own struct {
	Server *devpg.Server
	Pool   *pgxpool.Pool // superuser, on database app
	URL    string        // the same as a connection string
}

// Server starts a server for this test alone, with the schema migrated in a
// database named app: for tests that kill the server, count transaction ids,
// move its clock or need a superuser. It takes a second or more, on a slow
// machine many. It is stopped and removed at the end of the test; a failed
// test's log shows the end of the server's.
func Server(t testing.TB, options devpg.Options, mutate ...func(*pgxpool.Config)) *Own {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*patience)
	defer cancel()
	server, err := devpg.Start(ctx, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if log := server.Log(); t.Failed() {
			t.Logf("the server's log ends:\n%s", log[max(0, len(log)-4000):])
		}
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	conn, err := pgx.Connect(ctx, server.URL())
	if err != nil {
		t.Fatal(err)
	}
	_, err = conn.Exec(ctx, "CREATE DATABASE app")
	conn.Close(ctx)
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/app"
	connString, err := withMode(u.String())
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("pgx", connString)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := (Migrator{FS: schema.FS}).Migrate(ctx, db, pgtestdb.Config{}); err != nil {
		t.Fatal(err)
	}
	return &Own{Server: server, Pool: Pool(t, connString, append([]func(*pgxpool.Config){AsSuperuser}, mutate...)...), URL: connString}
}

// AsSuperuser is for more pools on such a server; it leaves the role alone: a server of the test's own is there for what needs a superuser.
func AsSuperuser(config *pgxpool.Config) { config.AfterConnect = nil }
