// Package testdb gives every test a PostgreSQL database of its own, with the
// schema migrated.
//
//	pool := testdb.New(t)
//
// The databases are cloned from a template by pgtestdb, which takes a fraction
// of a second each; subtests had better share one. The server is the one that
// PGIDEM_TEST_URL names, through a superuser; when it is unset, a private
// server is started once per test process and is gone with it. DATABASE_URL is
// never read.
//
// PGIDEM_TEST_EXEC_MODE (cache_statement, cache_describe, describe_exec, exec
// or simple_protocol) is the query exec mode of every pool and connection
// string given out, so that a whole suite can be run under each.
// PGIDEM_TEST_NO_COALESCING=1 makes Stores that share no statements, where a
// test asks NoCoalescing.
package testdb
