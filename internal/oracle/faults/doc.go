// Package faults breaks the database, and the network before it, under the load of two processes, and looks at what is left: as
// many effects as keys, nothing unresolved, no goroutine, no connection. It has tests alone.
//
// Delay and partition are Toxiproxy's, which stands here because of what it brings along. It does not know where PostgreSQL's
// messages begin, so what needs that (a COMMIT that goes unanswered, bytes that arrive late on a connection that lives) is
// internal/pgproxy's.
package faults
