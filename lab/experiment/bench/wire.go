package bench

import (
	"context"
	"encoding/binary"
	"net"
	"sync/atomic"

	goredis "github.com/redis/go-redis/v9"
)

// wire counts what goes to the servers. A round trip to PostgreSQL is a Sync or a simple Query, which is answered by one
// ReadyForQuery that its sender waits for; one to Redis is a command, or a pipeline of them.
type wire struct{ trips, messages, bytes atomic.Int64 }

// dial is a dialer of connections to PostgreSQL that are counted.
func (w *wire) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &wiredConn{Conn: conn, wire: w}, nil
}

// wiredConn reads the messages of PostgreSQL's protocol on their way out: a type byte, except before the start-up message, four
// bytes of length that count themselves, and the rest.
type wiredConn struct {
	net.Conn
	wire    *wire
	started bool
	head    []byte // of the message under way
	body    int    // bytes of it still to come
}

func (c *wiredConn) Write(b []byte) (int, error) {
	c.wire.bytes.Add(int64(len(b)))
	for rest := b; len(rest) > 0; {
		if c.body > 0 {
			n := min(c.body, len(rest))
			c.body, rest = c.body-n, rest[n:]
			continue
		}
		c.head, rest = append(c.head, rest[0]), rest[1:]
		length := 5
		if !c.started {
			length = 4
		}
		if len(c.head) < length {
			continue
		}
		if c.started {
			c.wire.messages.Add(1)
			if kind := c.head[0]; kind == 'S' || kind == 'Q' {
				c.wire.trips.Add(1)
			}
		}
		c.body = int(binary.BigEndian.Uint32(c.head[length-4:])) - 4
		c.head, c.started = c.head[:0], true
	}
	return c.Conn.Write(b)
}

// watch counts what clients of Redis send.
func (w *wire) watch(clients ...*goredis.Client) {
	for _, c := range clients {
		if c != nil {
			c.AddHook(watched{w})
		}
	}
}

type watched struct{ *wire }

func (w watched) DialHook(next goredis.DialHook) goredis.DialHook { return next }

func (w watched) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		w.trips.Add(1)
		w.messages.Add(1)
		return next(ctx, cmd)
	}
}

func (w watched) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []goredis.Cmder) error {
		w.trips.Add(1)
		w.messages.Add(int64(len(cmds)))
		return next(ctx, cmds)
	}
}
