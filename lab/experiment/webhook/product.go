package webhook

import (
	"context"
	"errors"
	"net/http"

	"github.com/jackc/pgx/v5"

	"github.com/pgidem/pgidem/idem"
)

// Do is the product's atomic mode with the event's id as the key: claim, work and answer are one transaction.
type Do struct {
	Store *idem.Store
	Work  Work
}

func (d Do) Receive(ctx context.Context, e Event) (int, error) {
	return statusOf(d.Store.Do(ctx, keyOf(e), func(ctx context.Context, tx pgx.Tx) (*idem.Response, error) {
		return handled(), d.Work(ctx, tx, e)
	}))
}

// Hold is the product's lease mode: the claim commits first, and the work together with the answer.
type Hold struct {
	Store *idem.Store // its Policy may be StaleRerun: work that did not commit left nothing behind
	Work  Work
}

func (h Hold) Receive(ctx context.Context, e Event) (int, error) {
	return statusOf(h.Store.Hold(ctx, keyOf(e), func(ctx context.Context, l *idem.Lease) (*idem.Response, error) {
		return nil, pgx.BeginFunc(ctx, h.Store.Pool, func(tx pgx.Tx) error {
			if err := h.Work(ctx, tx, e); err != nil {
				return err
			}
			return l.CompleteTx(ctx, tx, handled())
		})
	}))
}

func keyOf(e Event) idem.Key {
	return idem.Key{
		Tenant: "provider", Endpoint: "webhook", ID: e.ID,
		Fingerprint: idem.FingerprintOf([]byte(e.Type), []byte(e.Payment)),
	}
}

func handled() *idem.Response { return &idem.Response{Status: http.StatusOK} }

// statusOf is what the provider is told. A claim that another delivery holds is a 409, so that it comes back.
func statusOf(r *idem.Response, err error) (int, error) {
	switch {
	case errors.Is(err, idem.ErrInFlight):
		return http.StatusConflict, nil
	case err != nil:
		return 0, err
	}
	return r.Status, nil
}
