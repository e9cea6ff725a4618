package main

import (
	"context"
	"encoding/binary"
	"net"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"
)

// wire is a connection to the server that can end between two statements that were sent together.
type wire struct {
	net.Conn

	mu   sync.Mutex
	left int // statements to let through
	cut  func()
}

func dialWire(dial pgconn.DialFunc) pgconn.DialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &wire{Conn: conn}, nil
	}
}

// cutAfter calls cut when n more statements are on the wire, and nothing of the next.
func (w *wire) cutAfter(n int, cut func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.left, w.cut = n, cut
}

// Write sends whole messages, as pgx writes them.
func (w *wire) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cut == nil {
		return w.Conn.Write(b)
	}
	for at := 0; at < len(b); at += 1 + int(binary.BigEndian.Uint32(b[at+1:])) {
		if b[at] != 'E' { // Execute
			continue
		}
		if w.left == 0 {
			n, err := w.Conn.Write(b[:at])
			cut := w.cut
			w.cut = nil
			cut()
			if err == nil {
				n, err = w.Conn.Write(b[at:])
				n += at
			}
			return n, err
		}
		w.left--
	}
	return w.Conn.Write(b)
}
