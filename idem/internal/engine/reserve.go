package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// poolPatience is how long a holder's statement waits for the pool before it takes the reserve: handlers that wait for
	// connections must not keep others from completing.
	poolPatience = 10 * time.Millisecond
	// writeWait and writeTries bound what must be recorded.
	writeWait  = 5 * time.Second
	writeTries = 5
)

// Reserve is one plain connection beside the pool, opened at need and shared by turns.
type Reserve struct {
	turn chan struct{} // holds one token while the connection is free
	conn *pgx.Conn
	shut bool
}

// NewReserve returns a Reserve that holds no connection yet.
func NewReserve() *Reserve {
	r := &Reserve{turn: make(chan struct{}, 1)}
	r.turn <- struct{}{}
	return r
}

// Use runs f on a connection of the pool, or on the reserve's where the pool yields none within 10 ms. f runs again, five
// times in 5 s, while its connection fails; so it must be safe to repeat.
func (r *Reserve) Use(ctx context.Context, pool *pgxpool.Pool, f func(context.Context, *line) error) error {
	return persist(ctx, func(ctx context.Context) error { return r.try(ctx, pool, f) })
}

func (r *Reserve) try(ctx context.Context, pool *pgxpool.Pool, f func(context.Context, *line) error) error {
	patient, cancel := context.WithTimeout(ctx, poolPatience)
	conn, err := pool.Acquire(patient)
	cancel()
	if err != nil {
		return r.own(ctx, pool, f)
	}
	on := &line{conn: conn.Conn(), release: conn.Release}
	defer on.end(ctx)
	return f(ctx, on)
}

// own runs f once on the reserve's connection, when its turn has come.
func (r *Reserve) own(ctx context.Context, pool *pgxpool.Pool, f func(context.Context, *line) error) error {
	select {
	case <-r.turn:
		defer func() { r.turn <- struct{}{} }()
	case <-ctx.Done():
		return ctx.Err()
	}
	switch {
	case r.shut:
		return errors.New("the Store is closed")
	case ctx.Err() != nil:
		return ctx.Err()
	}
	if r.conn == nil || r.conn.IsClosed() {
		conn, err := dial(ctx, pool)
		if err != nil {
			return err
		}
		r.conn = conn
	}
	conn := r.conn
	on := &line{conn: conn, release: func() { shut(conn) }}
	err := f(ctx, on)
	if on.left {
		r.conn = nil
	} else {
		clean(ctx, conn)
	}
	return err
}

// Close closes the connection once nobody uses it; later uses fail.
func (r *Reserve) Close() {
	<-r.turn
	defer func() { r.turn <- struct{}{} }()
	r.shut = true
	if r.conn != nil {
		shut(r.conn)
		r.conn = nil
	}
}

func shut(conn *pgx.Conn) {
	bounded, cancel := context.WithTimeout(context.Background(), cleanWait)
	defer cancel()
	_ = conn.Close(bounded)
}

// dial opens a connection as the pool would, with its hooks.
func dial(ctx context.Context, pool *pgxpool.Pool) (*pgx.Conn, error) {
	config := pool.Config()
	if config.BeforeConnect != nil {
		if err := config.BeforeConnect(ctx, config.ConnConfig); err != nil {
			return nil, fmt.Errorf("BeforeConnect: %w", err)
		}
	}
	conn, err := pgx.ConnectConfig(ctx, config.ConnConfig)
	if err != nil {
		return nil, err
	}
	if config.AfterConnect != nil {
		if err := config.AfterConnect(ctx, conn); err != nil {
			_ = conn.Close(ctx)
			return nil, fmt.Errorf("AfterConnect: %w", err)
		}
	}
	return conn, nil
}

// persist tries f until it succeeds or the server answers it with an error that stays; five tries in 5 s, deaf to the
// caller's cancellation.
func persist(ctx context.Context, f func(context.Context) error) error {
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeWait)
	defer cancel()
	pause := 50 * time.Millisecond
	for try := 1; ; try++ {
		err := f(bounded)
		var pg *pgconn.PgError
		lasting := errors.As(err, &pg) && pg.SeverityUnlocalized == severityError && !timedOut(err)
		if err == nil || lasting || try == writeTries || bounded.Err() != nil {
			return err
		}
		select {
		case <-time.After(pause):
			pause *= 2
		case <-bounded.Done():
			return err
		}
	}
}
