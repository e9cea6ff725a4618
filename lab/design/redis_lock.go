package design

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"
)

// RedisLock claims the key with SET NX PX, charges, and then stores the answer (article 003, design 5). A claim whose owner has
// died expires, and whoever comes next charges.
type RedisLock struct {
	Client *redis.Client
	Card   *Card         // nil: the charge is a row in the database of Pool
	Pool   *pgxpool.Pool // not used with a Card
	Delay  time.Duration // of a charge there
	Stale  time.Duration // a claim's PX
	Poll   Polling       // of a caller whose key is another's
	At     At
}

func (RedisLock) Name() string { return "Redis SET NX" }
func (RedisLock) Once() bool   { return false }

const (
	redisPending = "pending"
	redisKeeps   = 24 * time.Hour // an answer
)

func (d RedisLock) Pay(ctx context.Context, p Payment) (Outcome, error) {
	key := "payment:" + p.Key
	err := d.Client.SetArgs(ctx, key, redisPending, redis.SetArgs{Mode: "NX", TTL: d.Stale}).Err()
	switch {
	case errors.Is(err, redis.Nil):
		return d.Poll.until(ctx, func() (Outcome, error) { return d.look(ctx, key) })
	case err != nil:
		return Outcome{}, err
	}
	id, err := chargeAt(ctx, d.Card, d.Pool, p, d.Delay)
	if err != nil {
		return Outcome{}, err
	}
	d.At.passes(Taken)
	return Outcome{Charged, id}, d.Client.Set(ctx, key, id, redisKeeps).Err()
}

func (d RedisLock) look(ctx context.Context, key string) (Outcome, error) {
	answer, err := d.Client.Get(ctx, key).Result()
	switch {
	case errors.Is(err, redis.Nil), err == nil && answer == redisPending: // it may have expired since
		return Outcome{Kind: InFlight}, nil
	case err != nil:
		return Outcome{}, err
	}
	id, err := strconv.ParseInt(answer, 10, 64)
	if err != nil {
		return Outcome{}, fmt.Errorf("the stored answer is no charge id: %w", err)
	}
	return Outcome{Replayed, id}, nil
}
