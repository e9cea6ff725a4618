package testdb

import (
	"context"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/internal/devpg"
)

func TestEveryTestHasAMigratedDatabaseOfItsOwn(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	one, two := New(t), New(t)
	for _, pool := range []*pgxpool.Pool{one, two} {
		if _, err := pool.Exec(ctx, "CREATE TABLE mine (); SELECT count(*) FROM idem.keys"); err != nil {
			t.Error(err)
		}
		var super bool
		if err := pool.QueryRow(ctx, "SELECT rolsuper FROM pg_roles WHERE rolname = current_user").Scan(&super); err != nil || super {
			t.Errorf("superuser: %v (%v)", super, err)
		}
	}
}

func TestDatabaseIsDroppedAtTheEnd(t *testing.T) {
	t.Parallel()
	var url string
	var leaked *pgx.Conn
	t.Run("test", func(t *testing.T) {
		url = URL(t)
		pool := Pool(t, url)
		if err := pool.Ping(t.Context()); err != nil {
			t.Fatal(err)
		}
		conn, err := pgx.Connect(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		leaked = conn // the database goes even so
	})
	defer leaked.Close(context.Background())
	_, err := pgx.Connect(t.Context(), url)
	if err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("connect after the test: %v", err)
	}
}

func TestEmptyHasNoSchema(t *testing.T) {
	t.Parallel()
	pool := Pool(t, Empty(t))
	var tables int
	err := pool.QueryRow(t.Context(),
		"SELECT count(*) FROM pg_class WHERE relnamespace IN (SELECT oid FROM pg_namespace WHERE nspname IN ('idem', 'public'))").Scan(&tables)
	if err != nil || tables != 0 {
		t.Errorf("%d tables (%v)", tables, err)
	}
}

func TestTestChoosesItsPool(t *testing.T) {
	t.Parallel()
	if got := New(t).Config().MaxConns; got != 10 {
		t.Errorf("MaxConns is %d by default, want 10", got)
	}
	pool := New(t, func(c *pgxpool.Config) { c.MaxConns = 3 }, func(c *pgxpool.Config) {
		c.ConnConfig.RuntimeParams["application_name"] = "mine"
	})
	var name string
	if err := pool.QueryRow(t.Context(), "SHOW application_name").Scan(&name); err != nil || name != "mine" || pool.Config().MaxConns != 3 {
		t.Errorf("application_name %q (%v), MaxConns %d", name, err, pool.Config().MaxConns)
	}
}

func TestExecModeOfTheVariableIsEverywhere(t *testing.T) {
	for mode, want := range map[string]pgx.QueryExecMode{
		"":                pgx.QueryExecModeCacheStatement,
		"cache_statement": pgx.QueryExecModeCacheStatement,
		"cache_describe":  pgx.QueryExecModeCacheDescribe,
		"describe_exec":   pgx.QueryExecModeDescribeExec,
		"exec":            pgx.QueryExecModeExec,
		"simple_protocol": pgx.QueryExecModeSimpleProtocol,
	} {
		t.Setenv("PGIDEM_TEST_EXEC_MODE", mode)
		pool := New(t)
		if got := pool.Config().ConnConfig.DefaultQueryExecMode; got != want {
			t.Errorf("%q: pool in mode %v", mode, got)
		}
		var n int
		if err := pool.QueryRow(t.Context(), "SELECT $1::int", 7).Scan(&n); err != nil || n != 7 {
			t.Errorf("%q: %d, %v", mode, n, err)
		}
		for _, url := range []string{URL(t), Empty(t)} {
			config, err := pgx.ParseConfig(url)
			if err != nil || config.DefaultQueryExecMode != want {
				t.Errorf("%q: %s (%v)", mode, url, err)
			}
		}
	}
	t.Setenv("PGIDEM_TEST_EXEC_MODE", "fast")
	if _, err := withMode("postgres://h/d"); err == nil || !strings.Contains(err.Error(), "simple_protocol") {
		t.Errorf("unknown mode: %v", err)
	}
	t.Setenv("PGIDEM_TEST_EXEC_MODE", "exec")
	if got, err := withMode("postgres://h/d?default_query_exec_mode=cache_describe"); err != nil || strings.Contains(got, "=exec") {
		t.Errorf("the mode in the connection string does not win: %s, %v", got, err)
	}
}

func TestOwnServerCanBeKilled(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	own := Server(t, devpg.Options{Settings: map[string]string{"autovacuum": "off"}})
	var database, autovacuum string
	var super bool
	err := own.Pool.QueryRow(ctx,
		"SELECT current_database(), current_setting('autovacuum'), (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) FROM (SELECT count(*) FROM idem.keys) AS k",
	).Scan(&database, &autovacuum, &super)
	if err != nil || database != "app" || autovacuum != "off" || !super {
		t.Fatalf("database %s, autovacuum %s, superuser %t (%v)", database, autovacuum, super, err)
	}
	own.Server.Kill()
	if err := own.Pool.Ping(ctx); err == nil {
		t.Error("the killed server answers")
	}
	if err := own.Server.Restart(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := own.Pool.Exec(ctx, "SELECT count(*) FROM idem.keys"); err != nil {
		t.Errorf("after restart: %v", err)
	}
}
