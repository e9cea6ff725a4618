package timeout

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/pgidem/pgidem/idem/idemhttp"
	"github.com/pgidem/pgidem/lab/design"
)

// answer is what a customer was told.
type answer struct {
	status   int
	replayed bool
	body     []byte
}

// send sends p once, as JSON under its key; what the client does besides is the client's.
func send(ctx context.Context, client *http.Client, url string, p design.Payment) (a answer, err error) {
	body, err := json.Marshal(map[string]any{"customer": p.Customer, "amount_cents": p.AmountCents})
	if err != nil {
		return a, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url+path, bytes.NewReader(body))
	if err != nil {
		return a, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set(idemhttp.HeaderKey, p.Key)
	response, err := client.Do(r)
	if err != nil {
		return a, err
	}
	defer response.Body.Close()
	a = answer{status: response.StatusCode, replayed: response.Header.Get(idemhttp.HeaderReplayed) == "true"}
	if a.body, err = io.ReadAll(response.Body); err == nil && a.status == http.StatusInternalServerError {
		err = fmt.Errorf("the server fails: %s", a.body) // no design here means it
	}
	return a, err
}

// path is the route of every site.
const path = "/payments"

// received is the payment that r asks for.
func received(r *http.Request) (design.Payment, error) {
	var in struct {
		Customer    string `json:"customer"`
		AmountCents int    `json:"amount_cents"`
	}
	err := json.NewDecoder(r.Body).Decode(&in)
	return design.Payment{Key: r.Header.Get(idemhttp.HeaderKey), Customer: in.Customer, AmountCents: in.AmountCents}, err
}

func newClient() *http.Client {
	return &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: conns}}
}
