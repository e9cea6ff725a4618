package main

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/golang-migrate/migrate/v4/database"
	"github.com/jackc/pgx/v5"
)

// defaultWait is as long as the stock migrate CLI waits.
const defaultWait = 15 * time.Second

var (
	//go:embed lock.sql
	lockSQL string
	//go:embed holder.sql
	holderSQL string
	//go:embed place.sql
	placeSQL string
)

// lock takes golang-migrate's own advisory lock for the session, so that every check and every migration of a run stand under
// it, and the stock CLI waits too. It polls: a session that waits in pg_advisory_lock holds a snapshot, which stops a CREATE
// INDEX CONCURRENTLY of the one that it waits for.
func lock(ctx context.Context, conn *pgx.Conn, wait time.Duration, stderr io.Writer) error {
	id, err := lockID(ctx, conn)
	if err != nil {
		return err
	}
	deadline := time.After(wait)
	for said := false; ; said = true {
		var held bool
		if err := conn.QueryRow(ctx, lockSQL, pgx.NamedArgs{"lock": id}).Scan(&held); err != nil || held {
			return err
		}
		who := holder(ctx, conn, id)
		if !said && wait > 0 {
			fmt.Fprintf(stderr, "idem: another migration is running (%s): waiting %v at most\n", who, wait)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("interrupted while another migration is running (%s): nothing was changed", who)
		case <-deadline:
			return fmt.Errorf("another migration is running (%s) and has not ended within %v: nothing was changed. Run this again "+
				"when it has ended; if its client is gone, end it with SELECT pg_terminate_backend(pid)", who, wait)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// lockID is the lock that the stock CLI takes: its name for a database is the path of the URL, with the slash.
func lockID(ctx context.Context, conn *pgx.Conn) (int64, error) {
	var name, schema string
	if err := conn.QueryRow(ctx, placeSQL).Scan(&name, &schema); err != nil {
		return 0, err
	}
	id, err := database.GenerateAdvisoryLockId("/"+name, schema, versionTable)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(id, 10, 64)
}

// holder describes the session that holds the lock.
func holder(ctx context.Context, conn *pgx.Conn, id int64) string {
	var pid int
	var application string
	var since time.Time
	err := conn.QueryRow(ctx, holderSQL, pgx.NamedArgs{"lock": id}).Scan(&pid, &application, &since)
	if err != nil {
		return "its session cannot be seen"
	}
	return fmt.Sprintf("pid %d, application %q, since %s", pid, safe(application), utc(&since))
}
