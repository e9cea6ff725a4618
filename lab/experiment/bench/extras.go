package bench

import (
	"bytes"
	"context"
	"fmt"
	"sync"

	"github.com/jackc/pgx/v5"

	"github.com/pgidem/pgidem/idem"
)

// Ids of what is counted and not timed.
const (
	claimComplete = "claim-complete"
	doPair        = "do-pair"
	heartbeat     = "heartbeat"
	largeHold     = "large-hold"
	largeReplay   = "large-replay"
)

// extras are parts of the product that are counted and not timed.
func (p product) extras() []arm {
	beat := &beats{product: p}
	return []arm{
		{id: doPair, name: "Store.Do, no charge", ours: true, call: p.doPair},
		{id: claimComplete, name: "Store.Claim, Lease.Complete", ours: true, call: p.claimComplete},
		{id: heartbeat, name: "Lease.Extend", ours: true, keys: finished, call: beat.extend, finish: beat.claim},
		{id: largeHold, name: "Store.Hold, answer of 1 MiB", ours: true, big: true, call: p.holdLarge},
		{
			id: largeReplay, name: "Store.Hold, replay of 1 MiB", ours: true, big: true, keys: finished, call: p.largeReplays,
			finish: p.holdLarge,
		},
	}
}

func (p product) doPair(ctx context.Context, key string) error {
	return isFirst(p.store.Do(ctx, keyOf(key), func(context.Context, pgx.Tx) (*idem.Response, error) { return created(), nil }))
}

func (p product) claimComplete(ctx context.Context, key string) error {
	lease, _, err := p.store.Claim(ctx, keyOf(key))
	if err != nil {
		return err
	}
	return lease.Complete(ctx, created())
}

// beats are leases that are extended.
type beats struct {
	product
	mu     sync.Mutex
	leases map[string]*idem.Lease
}

func (b *beats) claim(ctx context.Context, key string) error {
	lease, _, err := b.store.Claim(ctx, keyOf(key))
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.leases == nil {
		b.leases = make(map[string]*idem.Lease)
	}
	b.leases[key] = lease
	return err
}

func (b *beats) extend(ctx context.Context, key string) error {
	b.mu.Lock()
	lease := b.leases[key]
	b.mu.Unlock()
	return lease.Extend(ctx)
}

var largeAnswer = bytes.Repeat([]byte("x"), 1<<20)

func (p product) holdLarge(ctx context.Context, key string) error {
	_, err := p.store.Hold(ctx, keyOf(key), func(context.Context, *idem.Lease) (*idem.Response, error) {
		return &idem.Response{Status: 201, Body: largeAnswer}, nil
	})
	return err
}

func (p product) largeReplays(ctx context.Context, key string) error {
	resp, err := p.store.Hold(ctx, keyOf(key), mustNotRun)
	if err == nil && (!resp.Replayed || !bytes.Equal(resp.Body, largeAnswer)) {
		return fmt.Errorf("%w: %d bytes", errAnswer, len(resp.Body))
	}
	return err
}
