package mismatch

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/pgidem/pgidem/idem/idemhttp"
)

// request is what a client sends.
type request struct {
	kind  string // charge or refund
	cents int64
	body  string // JSON; empty: an order of cents
}

// scene is two requests under one key.
type scene struct {
	name          string
	first, second request
}

// The scenes that findings speak of.
const (
	larger    = "$9,000 after $49"
	smaller   = "$49 after $9,000"
	elsewhere = "refund after charge"
	rewritten = "JSON reordered"
)

var scenes = []scene{
	{larger, request{kind: "charge", cents: 49_00}, request{kind: "charge", cents: 9_000_00}},
	{smaller, request{kind: "charge", cents: 9_000_00}, request{kind: "charge", cents: 49_00}},
	{elsewhere, request{kind: "charge", cents: 49_00}, request{kind: "refund", cents: 49_00}},
	{rewritten, request{kind: "charge", cents: 49_00}, request{kind: "charge", cents: 49_00,
		body: `{ "amountCents": 4900, "userId": "u1" }`}},
}

// play sends both to a design, and looks up what the second answer is the receipt of.
func (s scene) play(ctx context.Context, books ledger, d served) (e Exchange, err error) {
	key := rand.Text()
	e = Exchange{Scene: s.name, Design: d.name, Ours: d.ours, Asked: s.second.kind, AskedCents: s.second.cents}
	first, err := s.first.send(ctx, d.handler, key)
	if err != nil {
		return e, err
	}
	if first.status != http.StatusOK {
		return e, fmt.Errorf("the first request was answered %d: %s", first.status, first.body)
	}
	second, err := s.second.send(ctx, d.handler, key)
	if err != nil {
		return e, err
	}
	e.Status, e.Replayed = second.status, second.replayed
	if e.Status == http.StatusOK {
		id, err := named(second.body)
		if err != nil {
			return e, err
		}
		if e.Named, e.NamedCents, err = books.movement(ctx, id); err != nil {
			return e, err
		}
	}
	e.ChargedCents, e.RefundedCents, err = books.moved(ctx, key)
	return e, err
}

// send sends it to a handler and returns the answer.
func (r request) send(ctx context.Context, h http.Handler, key string) (answer, error) {
	body := r.body
	if body == "" {
		body = fmt.Sprintf(`{"userId":"u1","amountCents":%d}`, r.cents)
	}
	method, path, _ := strings.Cut(endpoints[r.kind], " ")
	sent := httptest.NewRequestWithContext(ctx, method, path, strings.NewReader(body))
	sent.Header.Set("Content-Type", "application/json")
	sent.Header.Set(idemhttp.HeaderKey, key)
	got := httptest.NewRecorder()
	h.ServeHTTP(got, sent)
	a := answer{status: got.Code, body: got.Body.Bytes(), replayed: got.Header().Get(idemhttp.HeaderReplayed) == "true"}
	if a.status >= http.StatusInternalServerError {
		return a, fmt.Errorf("the handler failed: %d %s", a.status, a.body)
	}
	return a, ctx.Err()
}
