package timeout

import (
	"context"
	"errors"
	"net/http"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/internal/processor"
	"github.com/pgidem/pgidem/lab/design"
)

// hold is the product: a decline is an outcome, which is stored and replayed; a 503 is none, so the key is given back.
type hold struct {
	store *idem.Store
	card  processor.Client
}

var errUnavailable = errors.New("the processor is not available")

func (h hold) pay(ctx context.Context, p design.Payment) (status int, err error) {
	key := idem.Key{Tenant: "lab", Endpoint: "POST " + path, ID: p.Key, Fingerprint: idem.FingerprintOf([]byte(p.Customer))}
	answer, err := h.store.Hold(ctx, key, func(ctx context.Context, l *idem.Lease) (*idem.Response, error) {
		status, err := charge(ctx, h.card, l.DownstreamKey("charge"), p)
		switch {
		case err != nil:
			return nil, err
		case status == http.StatusServiceUnavailable:
			return nil, idem.Transient(errUnavailable)
		}
		return &idem.Response{Status: status, Failed: status != http.StatusCreated}, nil
	})
	switch {
	case errors.Is(err, errUnavailable):
		return http.StatusServiceUnavailable, nil
	case err != nil:
		return 0, err
	}
	return answer.Status, nil
}
