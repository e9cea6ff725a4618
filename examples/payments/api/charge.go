package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/pgidem/pgidem/idem/idemhttp"
	"github.com/pgidem/pgidem/internal/processor"
)

// chargeRequest is the body of POST /charges.
type chargeRequest struct {
	Card        string `json:"card"`
	AmountCents int64  `json:"amount_cents"`
	Reference   string `json:"reference"`
}

func (c chargeRequest) forProcessor() processor.Request {
	return processor.Request{Card: c.Card, AmountCents: c.AmountCents, Reference: c.Reference}
}

// charge is money that another system takes: lease mode. The processor is asked under the downstream key, which is the same for
// every try, and refuses to repeat it.
func (a *api) charge(w http.ResponseWriter, r *http.Request) {
	lease, _ := idemhttp.LeaseFrom(r.Context())
	var in chargeRequest
	if !read(w, r, &in) {
		return
	}
	key := lease.DownstreamKey("charge")
	receipt, err := a.processor.Charge(r.Context(), key, in.forProcessor())
	receipt, err = a.repeated(r.Context(), receipt, err, a.processor.GetCharge)
	a.settle(w, r, lease, key, receipt, err)
}

// refund is lease mode too.
func (a *api) refund(w http.ResponseWriter, r *http.Request) {
	lease, _ := idemhttp.LeaseFrom(r.Context())
	var in struct {
		Charge      string `json:"charge"`
		AmountCents int64  `json:"amount_cents"`
	}
	if !read(w, r, &in) {
		return
	}
	switch mine, err := a.isCharge(r, in.Charge); {
	case err != nil: // nothing was sent: the key is given back
		idemhttp.Transient(r.Context())
		writeRetry(w, http.StatusServiceUnavailable, "the books cannot be read; send the same request with the same key again")
		return
	case !mine: // nobody gives back what another tenant has paid
		writeError(w, http.StatusNotFound, "there is no charge of that id")
		return
	}
	key := lease.DownstreamKey("refund")
	receipt, err := a.processor.Refund(r.Context(), key, processor.Request{Charge: in.Charge, AmountCents: in.AmountCents})
	receipt, err = a.repeated(r.Context(), receipt, err, a.processor.GetRefund)
	a.settle(w, r, lease, key, receipt, err)
}

// isCharge reports whether the request's tenant has a charge of the id.
func (a *api) isCharge(r *http.Request, id string) (mine bool, err error) {
	tenant, err := tenantOf(r)
	if err == nil {
		err = a.pool.QueryRow(r.Context(), isChargeSQL, tenant, id).Scan(&mine)
	}
	return mine, err
}

// repeated turns a processor's refusal to repeat a key into what the first call did: a refusal means that it happened. Where the
// processor then does not tell what, that is unknown, whatever it says instead.
func (a *api) repeated(ctx context.Context, receipt *processor.Receipt, err error,
	get func(context.Context, string) (*processor.Receipt, error),
) (*processor.Receipt, error) {
	var refused *processor.Error
	if !errors.Is(err, processor.ErrDuplicate) || !errors.As(err, &refused) {
		return receipt, err
	}
	first, unknown := get(ctx, refused.ID)
	if unknown != nil {
		return nil, fmt.Errorf("%s was made, and the processor does not show it: %v", refused.ID, unknown)
	}
	return first, nil
}
