package processor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// Client calls a Processor. Each method sends one request, which net/http does not send again by itself: a caller that wants
// a second one sends it.
//
// After an error of Charge or Refund that is none of this package's, and after ErrFailed, it is unknown whether the money was
// taken, or will be.
type Client struct {
	URL  string       // such as http://127.0.0.1:8080
	HTTP *http.Client // nil: http.DefaultClient
}

// Charge takes money from a card. key "": without a key. A declined card is a Receipt, not an error.
func (c Client) Charge(ctx context.Context, key string, r Request) (*Receipt, error) {
	return c.receipt(ctx, http.MethodPost, "/v1/charges", key, r)
}

// Refund gives back what was charged. key "": without a key.
func (c Client) Refund(ctx context.Context, key string, r Request) (*Receipt, error) {
	return c.receipt(ctx, http.MethodPost, "/v1/refunds", key, r)
}

// FindCharge asks what has become of the charge under key: a Receipt, ErrNothing, ErrPending or ErrCannotAsk.
func (c Client) FindCharge(ctx context.Context, key string) (*Receipt, error) {
	return c.receipt(ctx, http.MethodGet, "/v1/charges?key="+url.QueryEscape(key), "", nil)
}

// FindRefund is FindCharge for refunds.
func (c Client) FindRefund(ctx context.Context, key string) (*Receipt, error) {
	return c.receipt(ctx, http.MethodGet, "/v1/refunds?key="+url.QueryEscape(key), "", nil)
}

// GetCharge shows the charge that a Receipt or an ErrDuplicate has named.
func (c Client) GetCharge(ctx context.Context, id string) (*Receipt, error) {
	return c.receipt(ctx, http.MethodGet, "/v1/charges/"+url.PathEscape(id), "", nil)
}

// GetRefund shows the refund that a Receipt or an ErrDuplicate has named.
func (c Client) GetRefund(ctx context.Context, id string) (*Receipt, error) {
	return c.receipt(ctx, http.MethodGet, "/v1/refunds/"+url.PathEscape(id), "", nil)
}

// Behaviour is how the processor treats its callers now.
func (c Client) Behaviour(ctx context.Context) (b Behaviour, err error) {
	_, err = c.send(ctx, http.MethodGet, "/v1/behaviour", "", nil, &b)
	return b, err
}

// Become changes the whole behaviour.
func (c Client) Become(ctx context.Context, b Behaviour) error {
	_, err := c.send(ctx, http.MethodPut, "/v1/behaviour", "", b, &b)
	return err
}

// Stats counts what the processor has done so far.
func (c Client) Stats(ctx context.Context) (s Stats, err error) {
	_, err = c.send(ctx, http.MethodGet, "/v1/stats", "", nil, &s)
	return s, err
}

// Landed is Stats once everything that had arrived has landed.
func (c Client) Landed(ctx context.Context) (s Stats, err error) {
	_, err = c.send(ctx, http.MethodGet, "/v1/stats?landed=true", "", nil, &s)
	return s, err
}

// Reset makes the processor forget everything but its behaviour, once what has arrived has landed.
func (c Client) Reset(ctx context.Context) error {
	_, err := c.send(ctx, http.MethodPost, "/v1/reset", "", nil, nil)
	return err
}

func (c Client) receipt(ctx context.Context, method, path, key string, body any) (*Receipt, error) {
	var r Receipt
	header, err := c.send(ctx, method, path, key, body, &r)
	if err != nil {
		return nil, err
	}
	r.Replayed = header.Get("Idempotent-Replayed") == "true"
	return &r, nil
}

// send sends one request and reads the answer into into, or as an Error.
func (c Client) send(ctx context.Context, method, path, key string, body, into any) (http.Header, error) {
	request, err := c.request(ctx, method, path, key, body)
	if err != nil {
		return nil, err
	}
	client := c.HTTP
	if client == nil {
		client = http.DefaultClient
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	switch response.StatusCode {
	case http.StatusOK, http.StatusCreated, http.StatusPaymentRequired:
		return response.Header, json.Unmarshal(text, into)
	case http.StatusNoContent:
		return response.Header, nil
	case http.StatusAccepted:
		return nil, ErrPending
	}
	e := Error{Status: response.StatusCode}
	if json.Unmarshal(text, &e) != nil || e.Code == "" { // not from a Processor
		return nil, fmt.Errorf("processor: %s: %.200s", response.Status, text)
	}
	return nil, &e
}

func (c Client) request(ctx context.Context, method, path, key string, body any) (*http.Request, error) {
	if c.URL == "" {
		return nil, errors.New("processor: Client.URL is empty")
	}
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return nil, err
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, c.URL+path, bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	// By these net/http would send a request that carries a key a second time, after a connection that it had used before is
	// cut: right for a processor that refuses repeated keys, a second charge at any other.
	request.GetBody = nil
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		request.Header.Set("Idempotency-Key", key)
	}
	return request, nil
}
