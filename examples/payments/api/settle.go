package main

import (
	"errors"
	"log/slog"
	"net/http"

	"github.com/jackc/pgx/v5"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/idem/idemhttp"
	"github.com/pgidem/pgidem/internal/processor"
)

// settle ends a charge or refund by what the processor said: the books and the answer in one transaction, or an answer that
// says what the client is to do.
func (a *api) settle(w http.ResponseWriter, r *http.Request, lease *idem.Lease, key string, receipt *processor.Receipt, err error) {
	var refused *processor.Error
	switch {
	case err == nil && receipt.Status == processor.Declined: // an outcome: recorded, and replayed
		write(w, http.StatusPaymentRequired, receipt)
	case err == nil:
		a.book(w, r, lease, key, receipt)
	case errors.Is(err, processor.ErrUnavailable): // no outcome: the key is given back (article 004)
		idemhttp.Transient(r.Context())
		w.Header().Set("Retry-After", "1")
		writeError(w, http.StatusServiceUnavailable, "the processor is not available; nothing was charged")
	case errors.As(err, &refused) && refused.Status/100 == 4 && !errors.Is(err, processor.ErrInProgress):
		writeError(w, http.StatusUnprocessableEntity, refused.Message)
	default: // it may have happened: the next try asks again under the same key
		slog.Warn("the processor's answer is unknown", "err", err)
		writeError(w, http.StatusBadGateway, "the processor did not answer; send the same request with the same key again")
	}
}

// book writes the charge into the books, together with the answer.
func (a *api) book(w http.ResponseWriter, r *http.Request, lease *idem.Lease, key string, receipt *processor.Receipt) {
	tenant, err := tenantOf(r)

	answer := &idem.Response{
		Status:      http.StatusCreated,
		Header:      http.Header{"Content-Type": {"application/json"}},
		Body:        encode(receipt),
		ProviderRef: receipt.ID,
	}
	if err == nil {
		err = pgx.BeginFunc(r.Context(), a.pool, func(tx pgx.Tx) error {
			if _, err := tx.Exec(r.Context(), insertChargeSQL, tenant, receipt.ID, receipt.Charge, receipt.AmountCents, key); err != nil {
				return err
			}
			return lease.CompleteTx(r.Context(), tx, answer)
		})
	}
	if err != nil { // the money is taken: not to be told as a failure, and not to be taken again
		slog.Error("a charge is not in the books", "charge", receipt.ID, "err", err)
		writeError(w, http.StatusInternalServerError, "send the same request with the same key again")
	}
}

func asDuplicate(err error) (*processor.Error, bool) {
	var refused *processor.Error
	return refused, errors.As(err, &refused) && errors.Is(err, processor.ErrDuplicate) && refused.ID != ""
}
