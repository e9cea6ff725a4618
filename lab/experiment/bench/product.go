package bench

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/pgidem/pgidem/idem"
)

const (
	tenant   = "lab"
	endpoint = "POST /payments"
)

// product is what this project makes of a key.
type product struct{ *rig }

func keyOf(id string) idem.Key {
	return idem.Key{Tenant: tenant, Endpoint: endpoint, ID: id, Fingerprint: idem.FingerprintOf([]byte(id))}
}

func created() *idem.Response { return &idem.Response{Status: 201, Body: answer} }

// charges is work whose effect is a row that commits by itself.
func (p product) charges(ctx context.Context, key string) error { return charge(ctx, p.pool, key) }

// hold is lease mode around work; nil: there is none.
func (p product) hold(store *idem.Store, work call) call {
	return func(ctx context.Context, key string) error {
		resp, err := store.Hold(ctx, keyOf(key), func(ctx context.Context, _ *idem.Lease) (*idem.Response, error) {
			if work == nil {
				return created(), nil
			}
			return created(), work(ctx, key)
		})
		return isFirst(resp, err)
	}
}

// do is atomic mode.
func (p product) do(ctx context.Context, key string) error {
	return isFirst(p.store.Do(ctx, keyOf(key), func(ctx context.Context, tx pgx.Tx) (*idem.Response, error) {
		return created(), charge(ctx, tx, key)
	}))
}

//go:embed charge_answer.sql
var chargeAnswerSQL string

// batch is atomic mode in one round trip.
func (p product) batch(ctx context.Context, key string) error {
	return isFirst(p.store.DoBatch(ctx, keyOf(key), func(b *idem.Batch) { b.Queue(chargeAnswerSQL, key, answer) }))
}

// finish gives a key its answer and charges nobody.
func (p product) finish(ctx context.Context, key string) error { return p.hold(p.store, nil)(ctx, key) }

func (p product) holdReplays(ctx context.Context, key string) error {
	return isReplay(p.store.Hold(ctx, keyOf(key), mustNotRun))
}

func (p product) doReplays(ctx context.Context, key string) error {
	return isReplay(p.store.Do(ctx, keyOf(key), func(context.Context, pgx.Tx) (*idem.Response, error) { return nil, errAnswer }))
}

// mustNotRun is the work of a key that has its answer.
func mustNotRun(context.Context, *idem.Lease) (*idem.Response, error) { return nil, errAnswer }

func isReplay(resp *idem.Response, err error) error {
	if err == nil && !resp.Replayed {
		return fmt.Errorf("%w: it is no replay", errAnswer)
	}
	return isFirst(resp, err)
}

func isFirst(resp *idem.Response, err error) error {
	switch {
	case err != nil:
		return err
	case resp.Status != 201 || !bytes.Equal(resp.Body, answer):
		return fmt.Errorf("%w: status %d, %d bytes", errAnswer, resp.Status, len(resp.Body))
	}
	return nil
}
