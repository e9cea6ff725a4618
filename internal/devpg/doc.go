// Package devpg runs a PostgreSQL server of its own for tests and
// experiments: found on this machine, installed or downloaded when it is not
// there, started on a free port of 127.0.0.1 in a temporary directory, and
// gone without a trace when the process that started it ends in whatever way,
// SIGKILL included.
//
//	server, err := devpg.Start(ctx, devpg.Options{})
//	if err != nil {
//		return err
//	}
//	defer server.Stop()
//	conn, err := pgx.Connect(ctx, server.URL())
//
// It works on Linux and macOS, for root and for ordinary users: PostgreSQL
// refuses to run as root, so root's server runs as user postgres, or else as
// nobody.
package devpg
