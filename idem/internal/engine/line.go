package engine

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
)

// errNoAnswer: what was sent may or may not have happened.
var errNoAnswer = errors.New("the server did not answer in time")

// carrier sends a claim's trips.
type carrier interface {
	carry(ctx context.Context, t *Trip) (pgx.Tx, error)
	words(ctx context.Context, sql string) error
}

// words sends transaction control alone, as text: in an aborted transaction no statement can be prepared, so it cannot share
// a trip with others.
func words(ctx context.Context, on Sender, sql string) error {
	_, err := on.Exec(ctx, sql)
	return err
}

// direct sends on a connection or transaction that goes on being used, within ctx.
type direct struct{ Sender }

func (d direct) words(ctx context.Context, sql string) error { return words(ctx, d.Sender, sql) }

func (d direct) carry(ctx context.Context, t *Trip) (pgx.Tx, error) { return t.Send(ctx, d.Sender) }

// line is a connection for trips that end with COMMIT. Those are never cut off: a context that ends makes pgx close the socket
// and send a cancel request, which ends a wait for synchronous replication and leaves the commit visible but never replicated.
// So the server's answer is awaited without a deadline in a goroutine that ends with it; a caller whose ctx ends first leaves the
// connection to that goroutine, and what the trip read with it.
type line struct {
	conn    *pgx.Conn
	release func() // gives the connection back, wherever it came from
	left    bool
}

func (l *line) carry(ctx context.Context, t *Trip) (pgx.Tx, error) {
	var tx pgx.Tx
	var err error
	var settled atomic.Bool // by the first of the answer and the caller's leaving
	answered := make(chan struct{})
	go func() {
		tx, err = t.Send(context.WithoutCancel(ctx), l.conn)
		if first := settled.CompareAndSwap(false, true); !first {
			clean(ctx, l.conn)
			l.release()
		}
		close(answered)
	}()
	select {
	case <-answered:
	case <-ctx.Done():
		if l.left = settled.CompareAndSwap(false, true); l.left {
			return nil, errNoAnswer
		}
		<-answered
	}
	return tx, err
}

func (l *line) words(ctx context.Context, sql string) error { return words(ctx, l.conn, sql) }

// end gives the connection back, unless it was left to a late answer.
func (l *line) end(ctx context.Context) {
	if !l.left {
		clean(ctx, l.conn)
		l.release()
	}
}
