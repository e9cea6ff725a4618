package testdb

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib" // pgtestdb's driver "pgx"
	"github.com/peterldowns/pgtestdb"

	"github.com/pgidem/pgidem/sql/schema"
)

// New returns a pool of up to 10 connections on a fresh database of the test's
// own, with the schema migrated. The functions may change the pool's
// configuration before it opens. At the end of the test the pool is closed and
// the database dropped, whatever is still connected to it; a failed test's
// database is kept for a day and its connection string is in the test's log.
//
// The role is an ordinary one that owns the database: what only a superuser
// may do needs Server.
func New(t testing.TB, mutate ...func(*pgxpool.Config)) *pgxpool.Pool {
	t.Helper()
	return Pool(t, URL(t), mutate...)
}

// URL returns the connection string of a database like New's.
func URL(t testing.TB) string {
	t.Helper()
	return database(t, Migrator{FS: schema.FS})
}

// Empty returns the connection string of a database like New's, but without
// the schema.
func Empty(t testing.TB) string {
	t.Helper()
	return database(t, pgtestdb.NoopMigrator{})
}

// patience bounds a step of setting up or clearing away on a slow machine.
const patience = time.Minute

// Pool returns a pool of up to 10 connections on any database, such as a
// second one on that of URL. It is closed at the end of the test, which fails
// if a connection is then still checked out.
func Pool(t testing.TB, connString string, mutate ...func(*pgxpool.Config)) *pgxpool.Pool {
	t.Helper()
	connString, err := withMode(connString)
	if err != nil {
		t.Fatal(err)
	}
	config, err := pgxpool.ParseConfig(connString)
	if err != nil {
		t.Fatalf("testdb: %s", err)
	}
	config.MaxConns = 10
	if least() {
		asLeast(config)
	}
	for _, f := range mutate {
		f(config)
	}
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		t.Fatalf("testdb: %s", err)
	}
	t.Cleanup(func() {
		closed := make(chan struct{})
		go func() {
			pool.Close() // waits for connections that are checked out
			close(closed)
		}()
		select {
		case <-closed:
		case <-time.After(patience):
			t.Errorf("testdb: %d connections of the pool are checked out at the end of the test", pool.Stat().AcquiredConns())
		}
	})
	return pool
}

// database makes a database and arranges its end.
func database(t testing.TB, migrator pgtestdb.Migrator) string {
	t.Helper()
	target, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	config := target.create(t, migrator)
	if _, migrated := migrator.(Migrator); migrated && least() {
		if err := makeLeast(t.Context(), target.config, config.Database); err != nil {
			t.Fatal(err)
		}
	}
	connString, err := withMode(config.URL())
	if err != nil {
		t.Fatal(err)
	}
	return connString
}
