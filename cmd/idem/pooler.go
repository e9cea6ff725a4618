package main

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
)

// refusePooler knows a pooler by its sign: the process that the protocol named at login is not the one that answers. Behind one
// the session lock of a migration would be taken in one session and its statements run in another.
func refusePooler(ctx context.Context, conn *pgx.Conn) error {
	var pid uint32
	// Simple protocol: a prepared statement may go astray behind a pooler, and its error would hide the reason.
	err := conn.QueryRow(ctx, "SELECT pg_backend_pid()", pgx.QueryExecModeSimpleProtocol).Scan(&pid)
	if err != nil {
		return err
	}
	if pid != conn.PgConn().PID() {
		return errors.New("a pooler (such as PgBouncer) stands before the server, and a migration needs one session to itself: " +
			"nothing was changed. Connect to the server directly, by its own host and port")
	}
	return nil
}
