package bench

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	goredis "github.com/redis/go-redis/v9"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/lab/database"
	"github.com/pgidem/pgidem/lab/redis"
	"github.com/pgidem/pgidem/lab/workbench"
)

// servers are a PostgreSQL with the tables of all arms, and a Redis.
type servers struct {
	db      *database.Database
	redis   *redis.Server // nil: noRedis says why
	noRedis string
	conns   int
}

func start(ctx context.Context, b *workbench.Bench, conns int, settings map[string]string) (_ *servers, err error) {
	s := &servers{conns: conns}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	if s.db, err = b.Database(ctx, conns, settings); err != nil {
		return nil, err
	}
	if _, err := s.db.Pool.Exec(ctx, byHandSQL); err != nil {
		return nil, err
	}
	if err := migrateRiver(ctx, s.db.Pool); err != nil {
		return nil, err
	}
	var skipped *workbench.ErrSkipped
	if s.redis, err = b.Redis(ctx); errors.As(err, &skipped) {
		s.noRedis = skipped.Error()
		return s, nil
	}
	return s, err
}

func (s *servers) close() error {
	if s.redis != nil {
		s.redis.Close()
	}
	if s.db != nil {
		return s.db.Close()
	}
	return nil
}

// taps are where a rig's connections are listened to or held up. The zero value leaves them alone.
type taps struct {
	postgres, redis func(ctx context.Context, network, address string) (net.Conn, error) // open a connection
	connected       func(*pgx.Conn)                                                      // is told of one to PostgreSQL
	name            string                                                               // of the program, to PostgreSQL
}

// rig is what arms work on: pools of the servers, and what stands on them.
type rig struct {
	pool         *pgxpool.Pool
	store, alone *idem.Store // that coalesces, and that does not
	redis, piped *goredis.Client
	pipe         *goredis.AutoPipeliner // of piped
	noRedis      string
	queue        *queue
	flows        *flows
}

// patience is how long callers of one key wait for each other: nobody is to be sent away on a machine that is busy.
const patience = time.Minute

// rig opens pools with these taps.
func (s *servers) rig(ctx context.Context, t taps) (_ *rig, err error) {
	r := &rig{noRedis: s.noRedis}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.close())
		}
	}()
	if r.pool, err = s.pool(ctx, t, s.conns); err != nil {
		return nil, err
	}
	policy := idem.Policy{Wait: patience}
	r.store = &idem.Store{Pool: r.pool, Policy: policy}
	r.alone = &idem.Store{Pool: r.pool, Policy: policy, NoCoalescing: true}
	if r.queue, err = newQueue(r.pool); err != nil {
		return nil, err
	}
	r.flows = &flows{beside: r.pool, open: func(ctx context.Context) (*pgxpool.Pool, error) {
		return s.pool(ctx, taps{postgres: t.postgres, name: flowsName}, s.conns+1)
	}}
	if s.redis == nil {
		return r, nil
	}
	r.redis, r.piped = s.client(t), s.client(t)
	r.pipe, err = r.piped.AutoPipeline()
	return r, err
}

// pool opens one of n connections, in the clear, and without the ping that a pool sends on a connection that was idle for a
// second: whether it is one more round trip depends on who else was measured meanwhile.
func (s *servers) pool(ctx context.Context, t taps, n int) (*pgxpool.Pool, error) {
	config := s.db.Pool.Config()
	config.MaxConns = int32(n)
	config.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return false }
	config.ConnConfig.TLSConfig, config.ConnConfig.Fallbacks = nil, nil
	if t.name != "" {
		config.ConnConfig.RuntimeParams["application_name"] = t.name
	}
	if t.postgres != nil {
		config.ConnConfig.DialFunc = t.postgres
	}
	if t.connected != nil {
		config.AfterConnect = func(_ context.Context, conn *pgx.Conn) error {
			t.connected(conn)
			return nil
		}
	}
	return pgxpool.NewWithConfig(ctx, config)
}

func (s *servers) client(t taps) *goredis.Client {
	return goredis.NewClient(&goredis.Options{Addr: s.redis.Address, Password: s.redis.Password, PoolSize: s.conns, Dialer: t.redis})
}

func (r *rig) close() error {
	var errs []error
	for _, store := range []*idem.Store{r.store, r.alone} {
		if store != nil {
			store.Close()
		}
	}
	if r.pipe != nil {
		errs = append(errs, r.pipe.Close())
	}
	for _, client := range []*goredis.Client{r.redis, r.piped} {
		if client != nil {
			errs = append(errs, client.Close())
		}
	}
	if r.pool != nil {
		r.pool.Close()
	}
	return errors.Join(errs...)
}
