package testdb

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// A run is one test process on a server that outlives it. It holds an advisory
// lock for as long as the process lives and signs its databases with it, as a
// comment: a database whose signature nobody holds was left behind by a killed
// process, and the next run drops it.
type run struct {
	id int32 // the lock's second key; never makingKey

	mu     sync.Mutex // conn serves one test at a time
	conn   *pgx.Conn
	signed map[string]bool // templates, once a process
}

// The advisory locks have two keys: lockSpace, "pgid", and the id of a run or
// makingKey. Whoever makes a database shares the latter until it is signed; the
// sweep takes it for itself alone, so that a database without a signature is
// nobody's.
const (
	lockSpace = 0x70676964
	makingKey = 0
)

// What the comment on a database says: the id of its run, or since when it is
// kept for a failed test, or when a process last took it as a template.
const (
	runSignature      = "pgidem test run "
	keptSignature     = "pgidem keeps this for a failed test since "
	templateSignature = "pgidem test template used "
)

// startRun connects, and sweeps what killed runs have left.
func startRun(ctx context.Context, connString string) (*run, error) {
	config, err := pgx.ParseConfig(connString)
	if err != nil {
		return nil, fmt.Errorf("testdb: PGIDEM_TEST_URL: %w", err)
	}
	connecting, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	conn, err := pgx.ConnectConfig(connecting, config)
	if err != nil {
		return nil, fmt.Errorf("testdb: no PostgreSQL server answers at %s, which PGIDEM_TEST_URL names: start it, or unset the variable to let the tests start a server of their own (%s)", address(config), cause(err))
	}
	r := &run{conn: conn, id: 1 + rand.Int32N(1<<31-2), signed: map[string]bool{}}
	if err := r.check(ctx); err != nil {
		conn.Close(ctx)
		return nil, err
	}
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock($1, $2)", lockSpace, r.id); err != nil {
		return nil, fmt.Errorf("testdb: %w", err)
	}
	if err := r.sweep(ctx); err != nil {
		return nil, fmt.Errorf("testdb: drop the databases of killed test runs: %w", err)
	}
	return r, nil
}

// cause is the last line of a connection error, which lists every attempt.
func cause(err error) string {
	lines := strings.Split(strings.TrimSpace(err.Error()), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

func (r *run) check(ctx context.Context) error {
	var user string
	var super bool
	err := r.conn.QueryRow(ctx, "SELECT rolname::text, rolsuper FROM pg_roles WHERE rolname = current_user").Scan(&user, &super)
	if err != nil {
		return fmt.Errorf("testdb: %w", err)
	}
	if !super {
		return fmt.Errorf("testdb: PGIDEM_TEST_URL connects as role %q, which must be a superuser to make test databases from a template", user)
	}
	return nil
}

// making announces that a database is being made; call done when it is signed.
func (r *run) making(ctx context.Context) (done func(context.Context) error, err error) {
	if err := r.exec(ctx, "SELECT pg_advisory_lock_shared($1, $2)", lockSpace, makingKey); err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		return r.exec(ctx, "SELECT pg_advisory_unlock_shared($1, $2)", lockSpace, makingKey)
	}, nil
}

// sign signs a database and, the first time, its template.
func (r *run) sign(ctx context.Context, database string) error {
	template, _, _ := strings.Cut(database, "_inst_")
	r.mu.Lock()
	known := r.signed[template]
	r.signed[template] = true
	r.mu.Unlock()
	if !known {
		if err := r.comment(ctx, template, templateSignature, "now()"); err != nil {
			return err
		}
	}
	return r.comment(ctx, database, runSignature, fmt.Sprint(r.id))
}

// keep lets a failed test's database outlive this run.
func (r *run) keep(ctx context.Context, database string) error {
	return r.comment(ctx, database, keptSignature, "now()")
}

// comment writes a signature and the value of an SQL expression, in the
// database's own time, on a database.
func (r *run) comment(ctx context.Context, database, signature, expression string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var statement string
	err := r.conn.QueryRow(ctx,
		"SELECT format('COMMENT ON DATABASE %I IS %L', $1::text, $2::text || "+expression+")",
		database, signature).Scan(&statement)
	if err == nil {
		_, err = r.conn.Exec(ctx, statement)
	}
	if err != nil {
		return fmt.Errorf("testdb: sign database %s: %w", database, err)
	}
	return nil
}

func (r *run) exec(ctx context.Context, sql string, args ...any) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, err := r.conn.Exec(ctx, sql, args...); err != nil {
		return fmt.Errorf("testdb: %w", err)
	}
	return nil
}
