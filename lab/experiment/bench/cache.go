package bench

import (
	"context"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

// commands are those of Redis that a key needs: a client's, or those of one that pipelines what its callers send at one moment.
type commands interface {
	SetArgs(ctx context.Context, key string, value any, a goredis.SetArgs) *goredis.StatusCmd
	Set(ctx context.Context, key string, value any, expiration time.Duration) *goredis.StatusCmd
}

// redisArm keeps the keys in Redis, as article 003 does.
type redisArm struct {
	*rig
	to commands
}

const (
	pendingFor = time.Minute
	keptFor    = 24 * time.Hour
)

// pay claims with SET NX PX, charges, and then stores the answer.
func (r redisArm) pay(ctx context.Context, key string) error {
	if err := r.to.SetArgs(ctx, key, "pending", goredis.SetArgs{Mode: "NX", TTL: pendingFor}).Err(); err != nil {
		return err
	}
	if err := charge(ctx, r.pool, key); err != nil {
		return err
	}
	return r.to.Set(ctx, key, answer, keptFor).Err()
}

// pair is pay without the charge.
func (r redisArm) pair(ctx context.Context, key string) error {
	if err := r.to.SetArgs(ctx, key, "pending", goredis.SetArgs{Mode: "NX", TTL: pendingFor}).Err(); err != nil {
		return err
	}
	return r.to.Set(ctx, key, answer, keptFor).Err()
}
