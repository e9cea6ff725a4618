package dirtypool

import (
	"context"
	"net"
	"sync"
	"time"
)

// wire numbers the connections that a pool opens, and knows which of them was used last and what the server warned of.
type wire struct {
	mu      sync.Mutex
	opened  int
	used    int // the connection of the last statement
	warning string
}

// DialContext opens a connection, for pgx.
func (w *wire) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.opened++
	return &numbered{Conn: conn, wire: w, number: w.opened}, nil
}

// Dial opens a connection, for lib/pq.
func (w *wire) Dial(network, address string) (net.Conn, error) {
	return w.DialContext(context.Background(), network, address)
}

// DialTimeout opens a connection, for lib/pq.
func (w *wire) DialTimeout(network, address string, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	return w.DialContext(ctx, network, address)
}

// warn keeps a notice of the server for the next look.
func (w *wire) warn(code, message string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.warning = code + ": " + message
}

// look returns the connection that was used last, and what the server has warned of since the last look.
func (w *wire) look() (connection int, warning string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	warning, w.warning = w.warning, ""
	return w.used, warning
}

type numbered struct {
	net.Conn
	wire   *wire
	number int
}

// terminate begins the message by which a client says goodbye, which is no use of a connection.
const terminate = 'X'

func (n *numbered) Write(text []byte) (int, error) {
	if len(text) > 0 && text[0] != terminate {
		n.wire.mu.Lock()
		n.wire.used = n.number
		n.wire.mu.Unlock()
	}
	return n.Conn.Write(text)
}
