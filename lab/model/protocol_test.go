package model

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/pgidem/pgidem/idem"
)

// protocol is what a client calls: idem.Store, or one that is broken on purpose.
type protocol interface {
	Do(ctx context.Context, key idem.Key, fn idem.TxWork) (*idem.Response, error)
	Claim(ctx context.Context, key idem.Key) (lease, *idem.Response, error)
	Hold(ctx context.Context, key idem.Key, fn work) (*idem.Response, error)
}

type work func(ctx context.Context, l lease) (*idem.Response, error)

// lease is what a client does with *idem.Lease.
type lease interface {
	Fence() int64
	Attempt() int
	DownstreamKey(step string) string
	Call(ctx context.Context, c idem.Call) ([]byte, error)
	StepTx(ctx context.Context, name string, fn func(ctx context.Context, tx pgx.Tx) ([]byte, error)) ([]byte, error)
	Extend(ctx context.Context) error
	Complete(ctx context.Context, r *idem.Response) error
	CompleteTx(ctx context.Context, tx pgx.Tx, r *idem.Response) error
	Release(ctx context.Context) error
	Abandon(ctx context.Context) error
}

// sound is the protocol as it is.
type sound struct{ store *idem.Store }

func (s sound) Do(ctx context.Context, key idem.Key, fn idem.TxWork) (*idem.Response, error) {
	return s.store.Do(ctx, key, fn)
}

func (s sound) Claim(ctx context.Context, key idem.Key) (lease, *idem.Response, error) {
	if c, ok := companyOf(ctx); ok {
		c.claims(ctx, s.store)
	}
	l, resp, err := s.store.Claim(ctx, key)
	if l == nil {
		return nil, resp, err
	}
	return inCompany{l}, resp, err
}

func (s sound) Hold(ctx context.Context, key idem.Key, fn work) (*idem.Response, error) {
	if c, ok := companyOf(ctx); ok {
		c.claims(ctx, s.store)
	}
	return s.store.Hold(ctx, key, func(ctx context.Context, l *idem.Lease) (*idem.Response, error) {
		resp, err := fn(ctx, inCompany{l})
		if c, ok := companyOf(ctx); ok && err == nil {
			c.completes(ctx)
		}
		return resp, err
	})
}
