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
	go io.WriteString(one, "1")
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
	if err := first.SetReadDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	for want, far := range map[byte]net.Conn{'1': first, '2': second} {
		got := make([]byte, 1)
		if _, err := far.Read(got); err != nil || got[0] != want {
			t.Errorf("%q, %v", got, err)
		}
	}
	go io.WriteString(one, "3")
	if _, err := first.Read(make([]byte, 1)); err != nil { // the second write of a copy does not wait
		t.Error(err)
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
