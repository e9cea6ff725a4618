package main

import (
	"context"
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
	var in chargeRequest
	if !read(w, r, &in) {
		return
	}
	lease, _ := idemhttp.LeaseFrom(r.Context())
	key := lease.DownstreamKey("charge")
	receipt, err := a.processor.Charge(r.Context(), key, in.forProcessor())
	receipt, err = a.repeated(r.Context(), receipt, err, a.processor.GetCharge)
	a.settle(w, r, lease, key, receipt, err)
}

// refund is lease mode too.
func (a *api) refund(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Charge      string `json:"charge"`
		AmountCents int64  `json:"amount_cents"`
	}
	if !read(w, r, &in) {
		return
	}
	lease, _ := idemhttp.LeaseFrom(r.Context())
	key := lease.DownstreamKey("refund")
	receipt, err := a.processor.Refund(r.Context(), key, processor.Request{Charge: in.Charge, AmountCents: in.AmountCents})
	receipt, err = a.repeated(r.Context(), receipt, err, a.processor.GetRefund)
	a.settle(w, r, lease, key, receipt, err)
}

// repeated turns a processor's refusal to repeat a key into what the first call did: a refusal means that it happened.
func (a *api) repeated(ctx context.Context, receipt *processor.Receipt, err error,
	get func(context.Context, string) (*processor.Receipt, error),
) (*processor.Receipt, error) {
	if refused, ok := asDuplicate(err); ok {
		return get(ctx, refused.ID)
	}
	return receipt, err
}
