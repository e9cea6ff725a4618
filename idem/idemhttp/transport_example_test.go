package idemhttp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/pgidem/pgidem/idem/idemhttp"
)

// order is an intention: its key was made and stored with it, before anything was sent.
type order struct {
	Key   string
	Cents int
}

func pay(ctx context.Context, client *http.Client, url string, o order) (string, error) {
	body := fmt.Sprintf(`{"cents":%d}`, o.Cents)
	req, err := http.NewRequestWithContext(ctx, "POST", url, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header.Set(idemhttp.HeaderKey, o.Key)
	req.Header.Set("Content-Type", "application/json")

	resp, err := client.Do(req)
	if errors.Is(err, idemhttp.ErrKeyTooOld) {
		return "", fmt.Errorf("ask what became of this order before it gets a fresh key: %w", err)
	}
	if err != nil {
		return "", err // nobody knows whether it arrived: come back later, with the same key
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case 201:
		receipt, err := io.ReadAll(resp.Body)
		return string(receipt), err
	case 402:
		return "", errors.New("declined: another card is another intention, with a fresh key")
	default:
		return "", fmt.Errorf("the answer is %s", resp.Status) // see the table
	}
}

func ExampleTransport() {
	requests := 0
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests++
		if requests == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		w.WriteHeader(http.StatusCreated)
		fmt.Fprintf(w, "paid on request %d", requests)
	}))
	defer api.Close()

	client := &http.Client{Transport: &idemhttp.Transport{TryTimeout: 15 * time.Second}}

	receipt, err := pay(context.Background(), client, api.URL+"/charges", order{Key: idemhttp.NewKey(), Cents: 4900})
	fmt.Println(receipt, err)
	// Output: paid on request 2 <nil>
}

// A key that is no UUIDv7 does not say when it was made. The one who stored it knows.
func ExampleWithMintedAt() {
	client := &http.Client{Transport: &idemhttp.Transport{MaxAge: 71 * time.Hour}} // the server keeps keys for 72 h

	written := time.Now().Add(-80 * time.Hour) // when the order was stored
	_, err := pay(idemhttp.WithMintedAt(context.Background(), written), client, "https://api.test/charges", order{Key: "order-17"})
	fmt.Println(errors.Is(err, idemhttp.ErrKeyTooOld))
	// Output: true
}

// The key of a request that had none is told with the answer, and with the error.
func ExampleTransportError() {
	client := &http.Client{Transport: &idemhttp.Transport{Tries: 2, MinBackoff: time.Millisecond}}

	_, err := client.Post("http://127.0.0.1:1/charges", "application/json", strings.NewReader(`{"cents":4900}`))
	var failed *idemhttp.TransportError
	if errors.As(err, &failed) {
		fmt.Println(failed.Tries, "tries, all under one key of", len(failed.Key), "characters")
	}
	// Output: 2 tries, all under one key of 36 characters
}
