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
	switch {
	case err != nil:
		a.fail(w, r, err)
	case receipt.Status == processor.Declined: // an outcome: recorded, and replayed
		write(w, http.StatusPaymentRequired, receipt)
	default:
		a.book(w, r, lease, key, receipt)
	}
}

// fail says what the client is to do after a call that the processor did not carry out, or whose end is not known.
func (a *api) fail(w http.ResponseWriter, r *http.Request, err error) {
	var refused *processor.Error
	switch {
	case errors.Is(err, processor.ErrUnavailable): // no outcome: the key is given back, unless an earlier try may have one (article 004)
		idemhttp.Transient(r.Context())
		writeRetry(w, http.StatusServiceUnavailable, "the processor is not available; send the same request with the same key again")
	case (errors.Is(err, processor.ErrBadRequest) || errors.Is(err, processor.ErrNoCharge)) && errors.As(err, &refused): // it never will
		writeError(w, http.StatusUnprocessableEntity, refused.Message)
	default: // it may have happened: the next try asks again under the same key
		slog.Warn("the processor's answer is unknown", "err", err)
		writeError(w, http.StatusBadGateway, "the processor did not answer; send the same request with the same key again")
	}
}

// book writes the charge into the books, together with the answer.
func (a *api) book(w http.ResponseWriter, r *http.Request, lease *idem.Lease, key string, receipt *processor.Receipt) {
	tenant, err := tenantOf(r)
	if err == nil {
		err = pgx.BeginFunc(r.Context(), a.pool, func(tx pgx.Tx) error {
			if err := enter(r.Context(), tx, tenant, key, receipt); err != nil {
				return err
			}
			return lease.CompleteTx(r.Context(), tx, answerOf(receipt))
		})
	}
	if err != nil {
		a.notBooked(w, receipt, err)
	}
}

// notBooked answers when the money is taken: that is not to be told as a failure, and not to be taken again.
func (a *api) notBooked(w http.ResponseWriter, receipt *processor.Receipt, err error) {
	slog.Error("a charge is not in the books", "charge", receipt.ID, "err", err)
	writeRetry(w, http.StatusServiceUnavailable, "it is not in the books yet; send the same request with the same key again")
}
