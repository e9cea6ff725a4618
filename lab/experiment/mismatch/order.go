package mismatch

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/pgidem/pgidem/idem/idemhttp"
)

// order is the body of a request.
type order struct {
	UserID      string `json:"userId"`
	AmountCents int64  `json:"amountCents"`
}

// The endpoints, by what they do.
var endpoints = map[string]string{"charge": "POST /v1/charge", "refund": "POST /v1/refund"}

// receipt is the article's answer: the id, and no amount.
func receipt(id int64) []byte { return fmt.Appendf(nil, `{"chargeId":%d}`, id) }

// named is the movement that an answer names, as a number or as a string.
func named(body []byte) (int64, error) {
	var answer struct {
		ChargeID any `json:"chargeId"`
	}
	if err := exactly(body, &answer); err != nil {
		return 0, fmt.Errorf("the answer is no receipt: %w", err)
	}
	id, err := strconv.ParseInt(fmt.Sprint(answer.ChargeID), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("the receipt names no charge: %w", err)
	}
	return id, nil
}

// send answers with a body of JSON.
func send(w http.ResponseWriter, status int, body []byte, replayed bool) {
	w.Header().Set("Content-Type", "application/json")
	if replayed {
		w.Header().Set(idemhttp.HeaderReplayed, "true")
	}
	w.WriteHeader(status)
	_, _ = w.Write(body) // whoever hangs up is not told
}
