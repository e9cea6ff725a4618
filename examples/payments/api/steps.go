package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/jackc/pgx/v5"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/idem/idemhttp"
	"github.com/pgidem/pgidem/internal/processor"
)

// chargeInSteps is charge with recovery points (article 000): a later try goes on after what is recorded, and a holder that has
// lost its lease calls nobody.
func (a *api) chargeInSteps(w http.ResponseWriter, r *http.Request) {
	lease, _ := idemhttp.LeaseFrom(r.Context())
	var in chargeRequest
	if !read(w, r, &in) {
		return
	}
	receipt, err := a.takeMoney(r.Context(), lease, in)
	switch {
	case err != nil:
		a.fail(w, r, err)
		return
	case receipt.Status == processor.Declined:
		write(w, http.StatusPaymentRequired, receipt)
		return
	}
	tenant, err := tenantOf(r)
	if err == nil {
		_, err = lease.StepTx(r.Context(), "book", func(ctx context.Context, tx pgx.Tx) ([]byte, error) {
			return nil, enter(ctx, tx, tenant, lease.DownstreamKey("charge"), receipt)
		})
	}
	if err != nil {
		a.notBooked(w, receipt, err)
		return
	}
	write(w, http.StatusCreated, receipt)
}

// takeMoney is the step that charges. Where the policy is to ask, the processor is asked about a try whose end is not recorded;
// elsewhere it is called again, and refuses.
func (a *api) takeMoney(ctx context.Context, lease *idem.Lease, in chargeRequest) (*processor.Receipt, error) {
	call := idem.Call{Name: "charge", Do: func(ctx context.Context, key string) ([]byte, error) {
		receipt, err := a.processor.Charge(ctx, key, in.forProcessor())
		if errors.Is(err, processor.ErrUnavailable) {
			return nil, idem.Transient(err)
		}
		receipt, err = a.repeated(ctx, receipt, err, a.processor.GetCharge)
		if err != nil {
			return nil, err
		}
		return json.Marshal(receipt)
	}}
	if a.keys.Store.Policy.Stale == idem.StaleResolve {
		call.Ask = func(ctx context.Context, key string) (idem.Verdict, []byte, error) {
			verdict, receipt, err := ask(ctx, a.processor.FindCharge, key)
			if verdict != idem.Found {
				return verdict, nil, err
			}
			output, err := json.Marshal(receipt)
			return verdict, output, err
		}
	}
	output, err := lease.Call(ctx, call)
	if err != nil {
		return nil, err
	}
	receipt := new(processor.Receipt)
	return receipt, json.Unmarshal(output, receipt)
}
