package cleanup

import (
	"context"
	_ "embed"
	"errors"
	"fmt"

	"github.com/pgidem/pgidem/gen"
	"github.com/pgidem/pgidem/idem"
)

// patient waits at gates for as long as they are shut.
var patient = idem.Policy{Wait: patience}

//go:embed rival_finished.sql
var rivalFinishedSQL string

// rivalOfProduct finishes the key when the claim has its snapshot and has inserted nothing, and its row is deleted before the
// claim reads it. The product's two statements travel in one round trip, so they are stopped at gates in the server.
func (b *bench) rivalOfProduct(ctx context.Context, v vanishing, endpoint string, r request, told *story) (o outcome, err error) {
	key := keyOf(endpoint, r)
	g, err := b.shut(ctx, 2*v.Times)
	if err != nil {
		return o, err
	}
	defer g.close()
	shop := v.build(b, endpoint, nil, nil)
	ended := make(chan answer, 1)
	go func() { ended <- shop.buy(ctx, r) }()
	for look := 1; look <= v.Times; look++ {
		for _, step := range []struct {
			does string
			take func() error
		}{
			{"the claim's INSERT has begun", func() error { return g.reached(ctx, 2*look-1, ended) }},
			{"a rival's call ends", func() error { return b.finishRival(ctx, key, v.swept) }},
			{"the claim's INSERT goes on", func() error { return g.open(ctx, 2*look-1) }},
			{"the claim's INSERT is over", func() error { return g.reached(ctx, 2*look, ended) }},
			{v.By + " deletes the row", func() error { return b.deleteKey(ctx, key, v.swept) }},
			{"the claim's SELECT begins", func() error { return g.open(ctx, 2*look) }},
		} {
			if err := step.take(); err != nil {
				return o, fmt.Errorf("%s: %w", step.does, err)
			}
			told.say(step.does, "ok")
		}
	}
	o.first = <-ended
	told.say("the client is told", o.first.String())
	passed, err := g.passed(ctx)
	o.looks = (passed + 1) / 2
	o.again = shop.buy(ctx, r)
	return o, err
}

func (b *bench) finishRival(ctx context.Context, key idem.Key, expired bool) error {
	_, err := b.pool.Exec(ctx, rivalFinishedSQL, key.Tenant, key.Endpoint, key.ID, []byte(key.Fingerprint), expired)
	return err
}

func (b *bench) deleteKey(ctx context.Context, key idem.Key, swept bool) error {
	if swept {
		return b.sweep(ctx)
	}
	return b.forget(ctx, key)
}

// sweep is idem sweep, whose one pass this is.
func (b *bench) sweep(ctx context.Context) error {
	stats, err := (&idem.Sweeper{Pool: b.pool}).Sweep(ctx)
	if err == nil && stats.Deleted == 0 {
		err = errors.New("the sweep deletes nothing, and a key is due")
	}
	return err
}

// forget is idem forget.
func (b *bench) forget(ctx context.Context, key idem.Key) error {
	seen, err := gen.New().KeyLookup(ctx, b.pool, gen.KeyLookupParams{TenantID: key.Tenant, Endpoint: key.Endpoint, Key: key.ID})
	if err != nil {
		return err
	}
	forgotten, err := gen.New().OperatorForget(ctx, b.pool, gen.OperatorForgetParams{
		TenantID: key.Tenant, Endpoint: key.Endpoint, Key: key.ID, SeenFence: seen.Fence, SeenClaimID: seen.ClaimID,
		Who: operator, Reason: "it is in the way",
	})
	if err == nil && forgotten != 1 {
		err = errors.New("the key has moved on since it was seen")
	}
	return err
}
