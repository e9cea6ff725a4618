// Package pgbouncer runs a PgBouncer of a test's own before a PostgreSQL server: on a free port of 127.0.0.1, as an
// unprivileged account, and gone when the test, or its process, ends.
//
//	url, bouncer := pgbouncer.Start(t, testdb.URL(t), pgbouncer.Options{})
package pgbouncer
