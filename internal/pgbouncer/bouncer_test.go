package pgbouncer_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pgidem/pgidem/internal/pgbouncer"
	"github.com/pgidem/pgidem/internal/testdb"
)

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	config, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	config.DefaultQueryExecMode = pgx.QueryExecModeExec
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

func backend(t *testing.T, db interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}) (pid int) {
	t.Helper()
	if err := db.QueryRow(t.Context(), "SELECT pg_backend_pid()").Scan(&pid); err != nil {
		t.Fatal(err)
	}
	return pid
}

func TestSessionsShareServerConnectionsByTransaction(t *testing.T) {
	t.Parallel()
	url, _ := pgbouncer.Start(t, testdb.Empty(t), pgbouncer.Options{PoolSize: 1})
	a, b := connect(t, url), connect(t, url)
	if first, second := backend(t, a), backend(t, b); first != second {
		t.Errorf("two sessions have the processes %d and %d, want the one of the pool", first, second)
	}
	if got := backend(t, a); got == int(a.PgConn().PID()) {
		t.Errorf("the protocol and the server agree on process %d: no sign of a pooler", got)
	}
}

func TestOpenTransactionKeepsItsServerConnection(t *testing.T) {
	t.Parallel()
	url, _ := pgbouncer.Start(t, testdb.Empty(t), pgbouncer.Options{})
	tx, err := connect(t, url).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(context.Background())
	if in, beside := backend(t, tx), backend(t, connect(t, url)); in == beside {
		t.Errorf("process %d serves another session while a transaction is open on it", in)
	}
}

func TestStopCutsClientsAndRestartServesTheSamePort(t *testing.T) {
	t.Parallel()
	url, bouncer := pgbouncer.Start(t, testdb.Empty(t), pgbouncer.Options{})
	before := connect(t, url)
	bouncer.Stop()
	if err := before.Ping(t.Context()); err == nil {
		t.Error("a client's connection outlives its pooler")
	}
	if conn, err := pgx.Connect(t.Context(), url); err == nil {
		conn.Close(t.Context())
		t.Error("a stopped pooler takes a client")
	}
	bouncer.Restart()
	backend(t, connect(t, url))
	bouncer.Restart()
	backend(t, connect(t, url))
}
