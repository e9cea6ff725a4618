package idem

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pgidem/pgidem/gen"
)

// schemaVersion is the newest migration that this build was made for.
const schemaVersion = 5

// oldestServer is the oldest PostgreSQL that the suite runs on.
const oldestServer = 140000

// Check says what is wrong with the set-up before the first claim does: schema and its version, rights, a pooler with a query
// mode that does not go through it, a standby, a server that forgets commits, be it in a crash or in a failover. It changes nothing. The error joins all findings,
// each with its cure (errors.Join's Unwrap() []error); nil means that the protocol can run.
func (s *Store) Check(ctx context.Context) error {
	if s.Pool == nil {
		return errNoPool
	}
	if _, err := s.Policy.withDefaults(); err != nil {
		return err
	}
	conn, err := s.Pool.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer conn.Release()
	server, err := q.CheckServer(ctx, conn)
	if err != nil {
		return errors.Join(unpreparable(err), fmt.Errorf("ask the server about itself: %w", err))
	}
	findings := []error{checkServer(server), checkPooler(conn.Conn(), server), checkSchema(ctx, conn.Conn(), server)}
	return errors.Join(findings...)
}

func checkServer(server gen.CheckServerRow) error {
	var findings []error
	if server.ServerVersion < oldestServer {
		findings = append(findings, fmt.Errorf("PostgreSQL %d is too old: 14 or newer is needed", server.ServerVersion/10000))
	}
	switch {
	case server.Standby:
		findings = append(findings, errors.New("this server is a standby and takes no writes: connect to the primary (target_session_attrs=read-write)"))
	case server.ReadOnly == "on":
		findings = append(findings, fmt.Errorf("role %q has read-only transactions: set default_transaction_read_only = off", server.Role))
	}
	if server.Fsync != "on" {
		findings = append(findings, errors.New("fsync is off: a crash of this server forgets answers that were sent; set fsync = on"))
	}
	if server.SynchronousCommit == "local" && server.SynchronousStandbyNames != "" {
		findings = append(findings, errors.New("synchronous_commit is local: commits do not wait for the synchronous standby, and a failover "+
			"forgets answers that were sent; set synchronous_commit = on"))
	}
	return errors.Join(findings...)
}

// checkPooler knows a pooler by its sign: the process that the protocol named at login is not the one that answers.
func checkPooler(conn *pgx.Conn, server gen.CheckServerRow) error {
	if int64(conn.PgConn().PID()) == int64(server.BackendPid) {
		return nil
	}
	switch mode := conn.Config().DefaultQueryExecMode; mode {
	case pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol:
		return nil
	default:
		return fmt.Errorf("a pooler stands before the server, and query mode %v prepares statements, which go astray in it: add default_query_exec_mode=exec to the connection string", mode)
	}
}

// unpreparable explains the errors that prepared statements meet behind a pooler.
func unpreparable(err error) error {
	var pg *pgconn.PgError
	if errors.As(err, &pg) && (pg.Code == "26000" || pg.Code == "42P05") {
		return errors.New("a pooler stands before the server and loses prepared statements: add default_query_exec_mode=exec to the connection string")
	}
	return nil
}

func checkSchema(ctx context.Context, conn *pgx.Conn, server gen.CheckServerRow) error {
	if !server.HasSchema {
		return errors.New("schema idem does not exist: run idem migrate up")
	}
	if !server.HasVersion {
		return errors.New("schema idem exists, and is not one that this build knows: run idem migrate version, and see docs/operations.md")
	}
	version, err := q.CheckVersion(ctx, conn)
	switch {
	case err != nil:
		return fmt.Errorf("role %q may not use schema idem (GRANT USAGE ON SCHEMA idem): %w", server.Role, err)
	case version < schemaVersion:
		return fmt.Errorf("schema idem has version %d and this build needs %d: run idem migrate up", version, schemaVersion)
	case version > schemaVersion:
		return fmt.Errorf("schema idem has version %d, which is newer than this build's %d: deploy the newer build, or idem migrate down", version, schemaVersion)
	}
	missing, err := q.CheckRights(ctx, conn)
	if err != nil {
		return fmt.Errorf("read the rights of role %q: %w", server.Role, err)
	}
	var findings []error
	for _, m := range missing {
		findings = append(findings, fmt.Errorf("role %q lacks a right: GRANT %s ON %s TO %s", server.Role, m.Privilege, m.Object, pgx.Identifier{server.Role}.Sanitize()))
	}
	return errors.Join(findings...)
}
