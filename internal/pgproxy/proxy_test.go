package pgproxy_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/pgidem/pgidem/internal/pgproxy"
	"github.com/pgidem/pgidem/internal/testdb"
)

// What is sent during a stall arrives after it, also from a client that has gone meanwhile.
func TestStallDeliversLate(t *testing.T) {
	pool := testdb.New(t)
	if _, err := pool.Exec(t.Context(), "CREATE TABLE arrived (n integer)"); err != nil {
		t.Fatal(err)
	}
	proxy := new(pgproxy.Proxy)
	through := pgproxy.Start(t, proxy, pool.Config().ConnString())
	connect := func() *pgx.Conn {
		conn, err := pgx.Connect(t.Context(), through)
		if err != nil {
			t.Fatal(err)
		}
		return conn
	}
	arrived := func() (n int) {
		if err := pool.QueryRow(t.Context(), "SELECT count(*) FROM arrived").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	waits, leaves := connect(), connect()
	proxy.Stall(true)
	answered := make(chan error, 1)
	go func() {
		_, err := waits.Exec(t.Context(), "INSERT INTO arrived VALUES (1)", pgx.QueryExecModeSimpleProtocol)
		answered <- err
	}()
	gone, err := leaves.PgConn().Hijack()
	if err != nil {
		t.Fatal(err)
	}
	message, err := (&pgproto3.Query{String: "INSERT INTO arrived VALUES (2)"}).Encode(nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := gone.Conn.Write(message); err != nil {
		t.Fatal(err)
	}
	_ = gone.Conn.Close()
	select {
	case err := <-answered:
		t.Errorf("a statement was answered during the stall: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	if n := arrived(); n != 0 {
		t.Errorf("%d statements arrived during the stall", n)
	}
	proxy.Stall(false)
	if err := <-answered; err != nil {
		t.Errorf("the client that waited: %v", err)
	}
	for end := time.Now().Add(20 * time.Second); arrived() != 2; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d statements arrived, want 2", arrived())
		}
	}
	if err := waits.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
