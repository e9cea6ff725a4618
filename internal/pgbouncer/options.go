package pgbouncer

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// Options are the settings of a Bouncer. The zero value pools by transaction.
type Options struct {
	PoolMode string // session, transaction or statement. Empty: transaction
	PoolSize int    // server connections for a database (default_pool_size). 0: 20
	// MaxPreparedStatements is how many named prepared statements follow a client from server connection to server connection
	// (max_prepared_statements). PgBouncer has it from 1.21 on; before, only 0 starts. 0: none, whatever the version's default.
	MaxPreparedStatements int
}

// config writes pgbouncer.ini. Clients may log in by any name, and every database is reached as the server URL's user.
func (o Options) config(server *pgx.ConnConfig, port int, version version) string {
	var b strings.Builder
	fmt.Fprintf(&b, "[databases]\n* = host=%s port=%d user=%s password=%s\n\n", quote(server.Host), server.Port,
		quote(server.User), quote(server.Password))
	fmt.Fprintf(&b, `[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = any
server_tls_sslmode = prefer
max_client_conn = 400
pool_mode = %s
default_pool_size = %d
`, port, cmp.Or(o.PoolMode, "transaction"), cmp.Or(o.PoolSize, 20))
	if version.hasPreparedStatements() {
		fmt.Fprintf(&b, "max_prepared_statements = %d\n", o.MaxPreparedStatements)
	}
	return b.String()
}

// quote quotes a value of a PgBouncer connection string.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
