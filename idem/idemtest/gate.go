package idemtest

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
)

// gate holds the copies of a request back until all of them are about to go out: connected, written out, one system call away.
type gate struct {
	missing atomic.Int64
	open    chan struct{}
}

func newGate(copies int) *gate {
	g := &gate{open: make(chan struct{})}
	g.missing.Store(int64(copies))
	return g
}

// ticket is one copy's place at a gate. It is handed in once: at the first write, or when the copy has failed before.
type ticket struct {
	gate *gate
	once sync.Once
}

func (t *ticket) handIn() {
	t.once.Do(func() {
		if t.gate.missing.Add(-1) == 0 {
			close(t.gate.open)
		}
	})
}

// gatedConn is a connection whose next write waits at a gate when it has a ticket.
type gatedConn struct {
	net.Conn
	ticket atomic.Pointer[ticket]
}

func (c *gatedConn) Write(b []byte) (int, error) {
	if t := c.ticket.Swap(nil); t != nil {
		t.handIn()
		<-t.gate.open
	}
	return c.Conn.Write(b)
}

// dialGated opens connections that can wait at a gate.
func dialGated(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &gatedConn{Conn: conn}, nil
}

// gated finds the gatedConn under what net/http calls a connection; nil where there is none.
func gated(c net.Conn) *gatedConn {
	if over, ok := c.(interface{ NetConn() net.Conn }); ok { // TLS
		c = over.NetConn()
	}
	found, _ := c.(*gatedConn)
	return found
}
