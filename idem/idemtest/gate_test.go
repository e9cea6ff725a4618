package idemtest

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"
)

// line is a gated connection with a copy at a gate, and where it leads.
func line(t *testing.T, g *gate) (from, to net.Conn) {
	near, far := net.Pipe()
	t.Cleanup(func() { near.Close(); far.Close() })
	conn := &gatedConn{Conn: near}
	conn.ticket.Store(&ticket{gate: g})
	return conn, far
}

func TestCopiesWaitAtTheGateForTheLast(t *testing.T) {
	t.Parallel()
	g := newGate(3)
	one, first := line(t, g)
	two, second := line(t, g)
	go func() {
		io.WriteString(one, "1")
		io.WriteString(one, "3") // waits no more
	}()
	go io.WriteString(two, "2")
	if err := first.SetReadDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if _, err := first.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a copy went through before all were there: %v", err)
	}
	failed := &ticket{gate: g} // of a copy that never came to its connection
	failed.handIn()
	failed.handIn()
	for _, c := range []struct {
		far  net.Conn
		want string
	}{{first, "1"}, {second, "2"}, {first, "3"}} {
		if err := c.far.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, 1)
		if _, err := c.far.Read(got); err != nil || string(got) != c.want {
			t.Fatalf("%q, %v; want %q", got, err, c.want)
		}
	}
}

func TestGateIsFoundUnderTLS(t *testing.T) {
	t.Parallel()
	conn := &gatedConn{}
	if gated(tls.Client(conn, nil)) != conn || gated(conn) != conn {
		t.Error("not found")
	}
	if gated(&net.TCPConn{}) != nil {
		t.Error("found where there is none")
	}
}
