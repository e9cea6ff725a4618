package failover

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/lab/database"
	"github.com/pgidem/pgidem/lab/design"
)

// postgresSite is one of the two servers.
type postgresSite struct {
	card *design.Card
	db   *database.Database
}

func (p *postgresSite) open(ctx context.Context, name string, conns int) (*shop, error) {
	pool, err := p.pool(ctx, name, conns)
	if err != nil {
		return nil, err
	}
	if err := fill(ctx, pool, conns); err != nil {
		pool.Close()
		return nil, err
	}
	closes := []func(){pool.Close}
	return &shop{
		design: func(s *subject) design.Design {
			d, done := s.build(pool, p.card)
			closes = append(closes, done)
			return d
		},
		close: func() {
			for _, c := range slices.Backward(closes) {
				c()
			}
		},
	}, nil
}

// pool is a shop's: its commits wait for the standby, as those of the experiment's own do not.
func (p *postgresSite) pool(ctx context.Context, name string, conns int) (*pgxpool.Pool, error) {
	config := p.db.Pool.Config()
	config.MaxConns = int32(conns)
	config.ConnConfig.RuntimeParams["application_name"] = name
	config.ConnConfig.RuntimeParams["synchronous_commit"] = "on"
	return pgxpool.NewWithConfig(ctx, config)
}

// fill opens all connections of a pool.
func fill(ctx context.Context, pool *pgxpool.Pool, conns int) error {
	held := make([]*pgxpool.Conn, conns)
	errs := make([]error, conns)
	var dials sync.WaitGroup
	for i := range conns {
		dials.Go(func() { held[i], errs[i] = pool.Acquire(ctx) })
	}
	dials.Wait()
	for _, conn := range held {
		if conn != nil {
			conn.Release()
		}
	}
	return errors.Join(errs...)
}

var (
	//go:embed claims.sql
	claimsSQL string
	//go:embed orders.sql
	ordersSQL string
	//go:embed waiting.sql
	waitingSQL string
	//go:embed lapse.sql
	lapseSQL string
)

func (p *postgresSite) claims(ctx context.Context) (map[string]bool, error) {
	rows, _ := p.db.Pool.Query(ctx, claimsSQL)
	all := map[string]bool{}
	var key string
	var finished bool
	_, err := pgx.ForEachRow(rows, []any{&key, &finished}, func() error {
		all[key] = finished
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the claims: %w", err)
	}
	return all, nil
}

func (p *postgresSite) orders(ctx context.Context) (map[string]charged, error) {
	return readCharged(ctx, p.db.Pool, ordersSQL)
}

func (p *postgresSite) waiting(ctx context.Context, name string) (n int, err error) {
	err = p.db.Pool.QueryRow(ctx, waitingSQL, name).Scan(&n)
	return n, err
}

func (p *postgresSite) lapse(ctx context.Context) error {
	_, err := p.db.Pool.Exec(ctx, lapseSQL)
	return err
}

func (p *postgresSite) check(ctx context.Context) (string, bool) {
	pool, err := p.pool(ctx, "check", 1)
	if err != nil {
		return err.Error(), true
	}
	defer pool.Close()
	if err := (&idem.Store{Pool: pool}).Check(ctx); err != nil {
		return err.Error(), true
	}
	return "", true
}

// readCharged reads rows of a payment's key, its charges and their keys.
func readCharged(ctx context.Context, pool *pgxpool.Pool, sql string) (map[string]charged, error) {
	rows, _ := pool.Query(ctx, sql)
	all := map[string]charged{}
	var key string
	var one charged
	_, err := pgx.ForEachRow(rows, []any{&key, &one.times, &one.keys}, func() error {
		all[key] = one
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("count the charges: %w", err)
	}
	return all, nil
}
