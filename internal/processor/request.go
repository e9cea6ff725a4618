package processor

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// Request is what a caller wants charged or refunded.
type Request struct {
	AmountCents int64  `json:"amount_cents"`        // above 0
	Currency    string `json:"currency,omitempty"`  // "": usd
	Card        string `json:"card,omitempty"`      // of a charge
	Charge      string `json:"charge,omitempty"`    // of a refund: the id of what is given back
	Reference   string `json:"reference,omitempty"` // the caller's own word for it; never compared
}

// DeclinedCard is a card that has no money on it.
const DeclinedCard = "4000000000000002"

// maxText bounds what a caller can have stored, bytes; maxBody a whole request.
const (
	maxText = 255
	maxBody = 64 << 10
)

// same reports whether r and other are one request, as far as a repeated key goes.
func (r Request) same(other Request) bool {
	r.Reference, other.Reference = "", ""
	return r == other
}

// readRequest reads and checks a request's body.
func readRequest(w http.ResponseWriter, r *http.Request, k kind) (Request, error) {
	var read Request
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
	d.DisallowUnknownFields()
	err := d.Decode(&read)
	if err == nil {
		if _, err = d.Token(); errors.Is(err, io.EOF) {
			err = nil
		} else {
			err = errors.New("there is more than one document")
		}
	}
	if err == nil {
		err = read.complete(k)
	}
	if err != nil {
		return Request{}, because(ErrBadRequest, "%v", err)
	}
	return read, nil
}

// complete fills in the defaults, and says what is missing or wrong.
func (r *Request) complete(k kind) error {
	if r.Currency == "" {
		r.Currency = "usd"
	}
	for name, text := range map[string]string{"currency": r.Currency, "card": r.Card, "charge": r.Charge, "reference": r.Reference} {
		if len(text) > maxText || strings.ContainsRune(text, 0) { // PostgreSQL's text holds no NUL
			return fmt.Errorf("%s has more than %d bytes, or a NUL", name, maxText)
		}
	}
	switch {
	case r.AmountCents <= 0:
		return errors.New("amount_cents must be above 0")
	case k == charge && r.Card == "":
		return errors.New("card is missing")
	case k == charge && r.Charge != "":
		return errors.New("charge is for refunds")
	case k == refund && r.Charge == "":
		return errors.New("charge is missing")
	}
	return nil
}

// readKey reads the Idempotency-Key; "" where there is none.
func readKey(h http.Header) (string, error) {
	lines := h.Values("Idempotency-Key")
	switch len(lines) {
	case 0:
		return "", nil
	case 1:
		return lines[0], checkKey(lines[0])
	}
	return "", because(ErrBadRequest, "there are %d lines of Idempotency-Key", len(lines))
}

func checkKey(key string) error {
	if key == "" || len(key) > maxText || strings.ContainsFunc(key, func(c rune) bool { return c <= ' ' || c > '~' }) {
		return because(ErrBadRequest, "a key is 1 to %d visible ASCII characters", maxText)
	}
	return nil
}
