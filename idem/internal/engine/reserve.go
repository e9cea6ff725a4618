package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/gen"
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
func (r *Reserve) Use(ctx context.Context, pool *pgxpool.Pool, f func(context.Context, Sender) error) error {
	return persist(ctx, func(ctx context.Context) error {
		patient, cancel := context.WithTimeout(ctx, poolPatience)
		conn, err := pool.Acquire(patient)
		cancel()
		if err != nil {
			return r.own(ctx, pool, f)
		}
		defer conn.Release()
		defer clean(ctx, conn.Conn())
		return f(ctx, conn.Conn())
	})
}

// Own runs f on the reserve's own connection, with the same tries.
func (r *Reserve) Own(ctx context.Context, pool *pgxpool.Pool, f func(context.Context, Sender) error) error {
	return persist(ctx, func(ctx context.Context) error { return r.own(ctx, pool, f) })
}

func (r *Reserve) own(ctx context.Context, pool *pgxpool.Pool, f func(context.Context, Sender) error) error {
	select {
	case <-r.turn:
		defer func() { r.turn <- struct{}{} }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if r.shut {
		return errors.New("the Store is closed")
	}
	if r.conn == nil || r.conn.IsClosed() {
		conn, err := dial(ctx, pool)
		if err != nil {
			return err
		}
		r.conn = conn
	}
	defer clean(ctx, r.conn)
	return f(ctx, r.conn)
}

// Close closes the connection once nobody uses it; later uses fail.
func (r *Reserve) Close() {
	<-r.turn
	defer func() { r.turn <- struct{}{} }()
	r.shut = true
	if r.conn != nil {
		bounded, cancel := context.WithTimeout(context.Background(), cleanWait)
		defer cancel()
		_ = r.conn.Close(bounded)
		r.conn = nil
	}
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

// Bound is how long a holder's statement may wait for others.
type Bound struct {
	Statement time.Duration // at most a third of the lease; 0: 5 s
	Lock      time.Duration // 0: as the session has it
}

func (b Bound) settings() gen.SettingsWriteParams {
	if b.Statement <= 0 {
		b.Statement = writeWait
	}
	return gen.SettingsWriteParams{StatementTimeout: milliseconds(b.Statement), LockTimeout: milliseconds(b.Lock)}
}

// Write sends statement in a transaction of its own, one round trip, on the pool or the reserve.
func (e Engine) Write(ctx context.Context, bound Bound, statement func(*Trip)) error {
	return e.Reserve.Use(ctx, e.Pool, writing(bound, statement))
}

// WriteAside is Write on the reserve's own connection alone.
func (r *Reserve) WriteAside(ctx context.Context, pool *pgxpool.Pool, bound Bound, statement func(*Trip)) error {
	return r.Own(ctx, pool, writing(bound, statement))
}

func writing(bound Bound, statement func(*Trip)) func(context.Context, Sender) error {
	return func(ctx context.Context, on Sender) error {
		t := new(Trip)
		t.Begin()
		t.Add(func(ctx context.Context, db gen.DBTX) error {
			return gen.New().SettingsWrite(ctx, db, bound.settings())
		})
		statement(t)
		t.Commit()
		_, err := t.Send(ctx, on)
		return err
	}
}
