package design

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/pgidem/pgidem/idem"
)

// keyOf names a payment to the product.
func keyOf(p Payment) idem.Key {
	amount := strconv.Itoa(p.AmountCents)
	return idem.Key{
		Tenant:      "lab",
		Endpoint:    "POST /payments",
		ID:          p.Key,
		Fingerprint: idem.FingerprintOf([]byte(p.Customer), []byte(amount)),
	}
}

// created is the answer to a payment that was charged.
func created(id int64) *idem.Response {
	return &idem.Response{Status: 201, Body: strconv.AppendInt(nil, id, 10)}
}

// outcomeOf reads what the product answered. What is not an answer but asks the client to come back because another request
// is at work is an outcome too; the rest is an error.
func outcomeOf(resp *idem.Response, err error) (Outcome, error) {
	switch {
	case errors.Is(err, idem.ErrInFlight):
		return Outcome{Kind: InFlight}, nil
	case err != nil:
		return Outcome{}, err
	}
	id, err := strconv.ParseInt(string(resp.Body), 10, 64)
	if err != nil {
		return Outcome{}, fmt.Errorf("the answer is no charge id: %w", err)
	}
	if resp.Replayed {
		return Outcome{Replayed, id}, nil
	}
	return Outcome{Charged, id}, nil
}
