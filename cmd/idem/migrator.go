package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/golang-migrate/migrate/v4"
	"github.com/golang-migrate/migrate/v4/database"
	migratepgx "github.com/golang-migrate/migrate/v4/database/pgx/v5"
	"github.com/golang-migrate/migrate/v4/source/iofs"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/pgidem/pgidem/sql/schema"
)

// A migrator is one session that holds the migration lock from before its first look at the database to Close.
type migrator struct {
	files  files
	before state // in no trouble
	config *pgx.ConnConfig
	db     *sql.DB
	engine *migrate.Migrate
	quiet  func() bool // ends the promise to say that an interrupt came
}

// openMigrator connects and returns a migrator that may start, or says why none may. Until then it writes nothing.
func openMigrator(ctx context.Context, src *source, wait time.Duration, stderr io.Writer) (*migrator, error) {
	files, err := embedded()
	if err != nil {
		return nil, err
	}
	config, err := src.config()
	if err != nil {
		return nil, err
	}
	config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeDescribeExec // what golang-migrate's arguments need
	m := &migrator{files: files, config: config.ConnConfig, db: stdlib.OpenDB(*config.ConnConfig)}
	m.db.SetMaxOpenConns(1) // the session that holds the lock is the one that migrates
	if err := m.open(ctx, src, wait, stderr); err != nil {
		m.db.Close()
		return nil, err
	}
	m.quiet = context.AfterFunc(ctx, func() {
		fmt.Fprintln(stderr, "idem: interrupted: the migration that runs is left to end; a second signal kills")
	})
	return m, nil
}

func (m *migrator) open(ctx context.Context, src *source, wait time.Duration, stderr io.Writer) error {
	if err := m.db.PingContext(ctx); err != nil {
		return src.connectError(err)
	}
	err := m.session(ctx, func(conn *pgx.Conn) (err error) {
		if err := refusePooler(ctx, conn); err != nil {
			return err
		}
		if err := lock(ctx, conn, wait, stderr); err != nil {
			return err
		}
		m.before, err = readState(ctx, conn)
		return err
	})
	if err != nil {
		return err
	}
	if err := errors.Join(m.before.trouble(m.files), m.before.unable()); err != nil {
		return err
	}
	files, err := iofs.New(schema.FS, ".")
	if err != nil {
		return err
	}
	driver, err := migratepgx.WithInstance(m.db, &migratepgx.Config{
		DatabaseName:    "/" + m.before.Database, // as in lockID
		SchemaName:      m.before.Current,
		MigrationsTable: versionTable,
	})
	if err != nil {
		return fmt.Errorf("prepare %s: %w", m.before.table(), migrationError(err))
	}
	m.engine, err = migrate.NewWithInstance("iofs", files, "pgx5", driver)
	return err
}

// Close ends the session, and with it the lock.
func (m *migrator) Close() {
	m.quiet()
	m.engine.Close()
}

// session runs f on the one connection.
func (m *migrator) session(ctx context.Context, f func(*pgx.Conn) error) error {
	conn, err := m.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	return conn.Raw(func(driver any) error { return f(driver.(*stdlib.Conn).Conn()) })
}

// up applies the next file.
func (m *migrator) up(ctx context.Context, next file) error {
	return m.explain(ctx, next, "applying", m.engine.Steps(1))
}

// down takes the newest applied file back.
func (m *migrator) down(ctx context.Context, last file) error {
	return m.explain(ctx, last, "taking back", m.engine.Steps(-1))
}

// explain adds to a failure how the database was left.
func (m *migrator) explain(ctx context.Context, one file, doing string, failure error) error {
	if failure == nil {
		return nil
	}
	err := fmt.Errorf("%s migration %d %s failed: %w", doing, one.Version, one.Name, migrationError(failure))
	now, lookErr := m.lookAgain(context.WithoutCancel(ctx))
	if lookErr != nil {
		return fmt.Errorf("%w\nHow the database was left cannot be seen (%w): run idem migrate version when it answers", err, lookErr)
	}
	if trouble := now.trouble(m.files); trouble != nil {
		return fmt.Errorf("%w\n%w", err, trouble)
	}
	return fmt.Errorf("%w\nNothing was changed: the schema is at version %d", err, now.recorded)
}

// lookAgain connects anew: golang-migrate keeps the session, which may have been the reason of a failure.
func (m *migrator) lookAgain(ctx context.Context) (state, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	conn, err := pgx.ConnectConfig(ctx, m.config)
	if err != nil {
		return state{}, err
	}
	defer conn.Close(ctx)
	return readState(ctx, conn)
}

// migrationError is the server's message; golang-migrate's own holds the whole file.
func migrationError(err error) error {
	var byValue database.Error
	var byPointer *database.Error
	var line uint
	switch {
	case errors.As(err, &byValue):
		err, line = byValue.OrigErr, byValue.Line
	case errors.As(err, &byPointer):
		err, line = byPointer.OrigErr, byPointer.Line
	}
	var server *pgconn.PgError
	if !errors.As(err, &server) {
		return err
	}
	text := fmt.Sprintf("%s: %s (SQLSTATE %s)", server.Severity, server.Message, server.Code)
	for _, more := range []string{server.Detail, server.Hint} {
		if more != "" {
			text += "; " + more
		}
	}
	if line > 0 {
		text += fmt.Sprintf(" at line %d of the file", line)
	}
	return errors.New(text)
}
