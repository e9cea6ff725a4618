// Package pgstub is a server that speaks PostgreSQL's protocol, knows the statements of the key protocol, those for several callers
// excepted, and answers them at once. In front of it a benchmark measures the middleware and pgx, and no database. It stores nothing.
package pgstub

import (
	"context"
	"net"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Stub is a server to which all keys are the same.
type Stub struct {
	// Body is that of the answer which every key already has, whatever the request: a 201 with a Content-Type. nil: every key is
	// new.
	Body []byte

	mu       sync.Mutex
	sessions sync.WaitGroup
	conns    []net.Conn
}

// Pool returns a pool of connections to the stub over loopback. Both end with the test. Its query mode is cache_statement, pgx's
// own and the only one that the stub understands, whatever the environment of the tests says.
func (s *Stub) Pool(t testing.TB) *pgxpool.Pool {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	config, err := pgxpool.ParseConfig("postgres://stub@" + listener.Addr().String() + "/stub?sslmode=disable")
	if err != nil {
		t.Fatal(err)
	}
	config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheStatement
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		t.Fatal(err)
	}
	s.sessions.Go(func() { s.accept(listener) })
	t.Cleanup(func() {
		pool.Close()
		_ = listener.Close()
		s.cut()
		s.sessions.Wait()
	})
	return pool
}

func (s *Stub) accept(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.conns = append(s.conns, conn)
		s.mu.Unlock()
		s.sessions.Go(func() {
			defer conn.Close()
			newSession(s, conn).serve()
		})
	}
}

// cut ends the connections that the test left open.
func (s *Stub) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, conn := range s.conns {
		_ = conn.Close()
	}
}
