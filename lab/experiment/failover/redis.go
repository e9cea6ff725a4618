package failover

import (
	"context"
	"fmt"
	"strings"

	goredis "github.com/redis/go-redis/v9"

	"github.com/pgidem/pgidem/lab/design"
	"github.com/pgidem/pgidem/lab/redis"
	"github.com/pgidem/pgidem/lab/workbench"
)

// redisPair is a redis-server and its replica.
type redisPair struct {
	first, second *redisSite
	link          *link
}

// newRedis starts the two.
func newRedis(ctx context.Context, bench *workbench.Bench, card *design.Card) (_ *redisPair, err error) {
	p := new(redisPair)
	defer func() {
		if err != nil {
			_ = p.close()
		}
	}()
	for _, one := range []**redisSite{&p.first, &p.second} {
		server, err := bench.Redis(ctx)
		if err != nil {
			return nil, err
		}
		*one = &redisSite{server, server.Client(), card}
	}
	if p.link, err = newLink(p.first.server.Address); err != nil {
		return nil, err
	}
	return p, p.second.server.Follow(ctx, p.first.server, p.link.address())
}

func (p *redisPair) primary() site { return p.first }
func (p *redisPair) replica() site { return p.second }
func (p *redisPair) part()         { p.link.part() }
func (p *redisPair) kill()         { p.first.server.Close() }

func (p *redisPair) caughtUp(ctx context.Context) error {
	return p.second.server.CaughtUp(ctx, p.first.server)
}

func (p *redisPair) promote(ctx context.Context) error { return p.second.server.Promote(ctx) }

func (p *redisPair) close() error {
	for _, one := range []*redisSite{p.first, p.second} {
		if one != nil {
			_ = one.client.Close() // its server goes
			one.server.Close()
		}
	}
	if p.link != nil {
		p.link.close()
	}
	return nil
}

// redisSite is one of the two servers.
type redisSite struct {
	server *redis.Server
	client *goredis.Client // with which this experiment looks at it
	card   *design.Card
}

func (r *redisSite) open(_ context.Context, _ string, conns int) (*shop, error) {
	client := r.server.Pool(conns)
	return &shop{
		design: func(*subject) design.Design {
			return design.RedisLock{Client: client, Card: r.card, Stale: lease}
		},
		close: func() { _ = client.Close() }, // its server may be gone
	}, nil
}

// keyPrefix is what design.RedisLock puts before a payment's key, and pending its value before there is an answer.
const (
	keyPrefix = "payment:"
	pending   = "pending"
)

func (r *redisSite) claims(ctx context.Context) (map[string]bool, error) {
	all := map[string]bool{}
	keys := r.client.Scan(ctx, 0, keyPrefix+"*", 0).Iterator()
	for keys.Next(ctx) {
		value, err := r.client.Get(ctx, keys.Val()).Result()
		if err != nil {
			return nil, fmt.Errorf("read the claims: %w", err)
		}
		all[strings.TrimPrefix(keys.Val(), keyPrefix)] = value != pending
	}
	if err := keys.Err(); err != nil {
		return nil, fmt.Errorf("read the claims: %w", err)
	}
	return all, nil
}

func (r *redisSite) orders(context.Context) (map[string]charged, error) { return nil, nil }

func (r *redisSite) waiting(context.Context, string) (int, error) { return 0, nil }

// lapse lets every pending key expire.
func (r *redisSite) lapse(ctx context.Context) error {
	claims, err := r.claims(ctx)
	if err != nil {
		return err
	}
	for key, finished := range claims {
		if finished {
			continue
		}
		if err := r.client.Expire(ctx, keyPrefix+key, 0).Err(); err != nil {
			return err
		}
	}
	return nil
}

func (r *redisSite) check(context.Context) (string, bool) { return "", false }
