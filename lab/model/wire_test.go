package model

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
)

var errDied = errors.New("the process has died")

// wire is all connections of one process. What dies with a process closes its sockets, as the kernel does.
type wire struct {
	process *process

	mu    sync.Mutex
	cut   bool
	conns map[*conn]bool
}

// dial opens a connection, unless the process has died.
func (w *wire) dial(ctx context.Context, network, address string) (net.Conn, error) {
	opened, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: opened, wire: w}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cut {
		opened.Close()
		return nil, errDied
	}
	w.conns[c] = true
	return c, nil
}

// cutAll closes every connection and lets none be opened.
func (w *wire) cutAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = true
	for c := range w.conns {
		c.Conn.Close()
	}
}

type conn struct {
	net.Conn
	wire *wire
	last atomic.Bool // its next answer is not read
}

func (c *conn) Close() error {
	c.wire.mu.Lock()
	delete(c.wire.conns, c)
	c.wire.mu.Unlock()
	if c.last.Load() { // nobody waits for the answer any more
		c.wire.process.die()
	}
	return c.Conn.Close()
}

func (c *conn) Write(b []byte) (int, error) {
	p := c.wire.process
	if !isStatement(b) || p.isDead() {
		return c.Conn.Write(b) // which fails, of a dead one
	}
	at, dies := p.fuses.trip()
	switch {
	case !dies:
		return c.Conn.Write(b)
	case at == beforeAnswer:
		c.last.Store(true)
		return c.Conn.Write(b)
	case at == afterSend:
		_, _ = c.Conn.Write(b)
	}
	p.die()
	return 0, errDied
}

func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if c.last.Load() {
		c.wire.process.die()
		return 0, errDied
	}
	return n, err
}

// isStatement reports whether a message is neither part of a login (lower case, or a length) nor a farewell.
func isStatement(b []byte) bool { return len(b) > 0 && b[0] >= 'A' && b[0] <= 'Z' && b[0] != 'X' }
