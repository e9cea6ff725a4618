package payments

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/pgidem/pgidem/idem/idemhttp"
	"github.com/pgidem/pgidem/lab/design"
)

// Route is a design that lies behind HTTP: a route of a shop's API.
type Route struct {
	Shop   *Shop
	Label  string
	Path   string       // /charges or /orders
	Client *http.Client // that its customers use
	Safe   bool         // it promises one charge a payment
}

func (r Route) Name() string { return r.Label }
func (r Route) Once() bool   { return r.Safe }

// Pay sends the payment once; what the Client does besides is the client's.
func (r Route) Pay(ctx context.Context, p design.Payment) (design.Outcome, error) {
	body, err := json.Marshal(map[string]any{
		"amount_cents": p.AmountCents,
		"card":         "4242424242424242", "reference": p.Key, // of a charge
		"course": "Idempotency in practice", "customer": p.Key, // of an order
	})
	if err != nil {
		return design.Outcome{}, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, r.Shop.api.URL+r.Path, bytes.NewReader(body))
	if err != nil {
		return design.Outcome{}, err
	}
	request.Header.Set("Authorization", "Bearer acme-secret")
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set(idemhttp.HeaderKey, p.Key)
	response, err := r.Client.Do(request)
	if err != nil {
		return design.Outcome{}, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return design.Outcome{}, err
	}
	return outcomeOf(response, answer)
}

func outcomeOf(response *http.Response, answer []byte) (design.Outcome, error) {
	switch {
	case response.StatusCode == http.StatusConflict && response.Header.Get("Retry-After") != "":
		return design.Outcome{Kind: design.InFlight}, nil
	case response.StatusCode != http.StatusCreated:
		return design.Outcome{}, fmt.Errorf("%s: %s", response.Status, answer)
	}
	var made struct {
		ID any `json:"id"` // a number of an order, ch_1 of a charge
	}
	d := json.NewDecoder(bytes.NewReader(answer))
	d.UseNumber()
	if err := d.Decode(&made); err != nil {
		return design.Outcome{}, fmt.Errorf("the answer is no JSON: %w", err)
	}
	id, err := strconv.ParseInt(strings.TrimPrefix(fmt.Sprint(made.ID), "ch_"), 10, 64)
	if err != nil {
		return design.Outcome{}, fmt.Errorf("the answer names no charge: %s", answer)
	}
	if response.Header.Get(idemhttp.HeaderReplayed) == "true" {
		return design.Outcome{Kind: design.Replayed, ChargeID: id}, nil
	}
	return design.Outcome{Kind: design.Charged, ChargeID: id}, nil
}
