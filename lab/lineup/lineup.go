// Package lineup is where article 003's designs and the product compete: one PostgreSQL and one Redis for all of them, and
// equally many connections to each.
package lineup

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	goredis "github.com/redis/go-redis/v9"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/lab/database"
	"github.com/pgidem/pgidem/lab/design"
	"github.com/pgidem/pgidem/lab/redis"
	"github.com/pgidem/pgidem/lab/workbench"
)

// Lineup is the servers, and the designs that need more of them than the pool.
type Lineup struct {
	Pool    *pgxpool.Pool
	Redis   *goredis.Client // nil: left out
	NoRedis string          // why it is; empty: it is not
	// Store is the product's, as patient with a key in flight as the article's designs are.
	Store *idem.Store

	db     *database.Database
	server *redis.Server
}

// Open starts the servers with conns connections to each. Close ends them.
func Open(ctx context.Context, b *workbench.Bench, conns int) (_ *Lineup, err error) {
	l := &Lineup{}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.Close())
		}
	}()
	if l.db, err = b.Database(ctx, conns, nil); err != nil {
		return nil, err
	}
	l.Pool = l.db.Pool
	l.Store = &idem.Store{Pool: l.Pool, Policy: idem.Policy{Wait: design.ArticlePolling.Patience()}}
	if err := design.ResetClaims(ctx, l.Pool); err != nil {
		return nil, err
	}
	var skipped *workbench.ErrSkipped
	switch l.server, err = b.Redis(ctx); {
	case errors.As(err, &skipped):
		l.NoRedis = skipped.Error()
		return l, nil
	case err != nil:
		return nil, err
	}
	l.Redis = l.server.Pool(conns)
	return l, nil
}

// Close ends the servers and everything on them.
func (l *Lineup) Close() error {
	var errs []error
	if l.Store != nil {
		l.Store.Close()
	}
	if l.Redis != nil {
		errs = append(errs, l.Redis.Close())
	}
	if l.server != nil {
		l.server.Close()
	}
	if l.db != nil {
		errs = append(errs, l.db.Close())
	}
	return errors.Join(errs...)
}

// Claim is the article's Postgres claim, whose losers poll, with a charge that takes delay.
func (l *Lineup) Claim(delay time.Duration) design.Design {
	return design.Claim{Pool: l.Pool, Delay: delay, Poll: design.ArticlePolling}
}

// RedisLock is the article's Redis SET NX PX 60000. It cannot be used where NoRedis says why.
func (l *Lineup) RedisLock(delay time.Duration) design.Design {
	return design.RedisLock{
		Client: l.Redis, Pool: l.Pool, Delay: delay, Stale: time.Minute, Poll: design.ArticlePolling,
	}
}
