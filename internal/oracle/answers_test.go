package oracle_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/idem/idemhttp"
	"github.com/pgidem/pgidem/internal/testdb"
)

// checked serves h at POST /orders, and fails the test for every answer that testdata/orders.yaml, which refers to the fragment,
// does not describe.
func checked(t *testing.T, doc *openapi3.T, h http.Handler) func(key, body string, header ...string) *http.Response {
	t.Helper()
	router, err := gorillamux.NewRouter(doc)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("POST /orders", h)
	return func(key, body string, header ...string) *http.Response {
		t.Helper()
		r := httptest.NewRequest(http.MethodPost, "/orders", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		if key != "" {
			r.Header.Set("Idempotency-Key", key)
		}
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		resp := w.Result()
		validate(t, router, r, resp)
		return resp
	}
}

func validate(t *testing.T, router routers.Router, r *http.Request, resp *http.Response) {
	t.Helper()
	route, params, err := router.FindRoute(r)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	input := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: r, PathParams: params, Route: route},
		Status:                 resp.StatusCode, Header: resp.Header, Body: io.NopCloser(bytes.NewReader(body)),
		Options: &openapi3filter.Options{IncludeResponseStatus: true},
	}
	if err := openapi3filter.ValidateResponse(t.Context(), input); err != nil {
		t.Errorf("%d %s: %v", resp.StatusCode, body, err)
	}
}

// What the middleware answers is what the fragment says, with a database and without one.
func TestAnswersAreAsTheFragmentSays(t *testing.T) {
	openapi3filter.RegisterBodyDecoder("application/problem+json", openapi3filter.RegisteredBodyDecoder("application/json"))
	doc := load(t, "testdata/orders.yaml")
	store := &idem.Store{Pool: testdb.New(t), Policy: idem.Policy{Wait: -1}}
	t.Cleanup(store.Close)
	down, err := pgxpool.New(t.Context(), "postgres://127.0.0.1:1/none?connect_timeout=1")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(down.Close)
	away := &idem.Store{Pool: down}
	t.Cleanup(away.Close)

	m := idemhttp.Middleware{
		Store:  store,
		Logger: slog.New(slog.DiscardHandler),
		Tenant: func(r *http.Request) (string, error) {
			if r.Header.Get("Authorization") == "" {
				return "", idemhttp.ErrUnauthenticated
			}
			return "T1", nil
		},
	}
	misused, unreachable := m, m
	misused.Tenant, unreachable.Store = nil, away

	var during func() // while the handler runs
	order := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if during != nil {
			during()
		}
		w.Header().Set("Content-Type", "application/json")
		if r.Header.Get("X-Do") == "stream" {
			w.WriteHeader(http.StatusCreated)
			_ = http.NewResponseController(w).Flush()
		} else if r.Header.Get("X-Do") == "lose" {
			panic(http.ErrAbortHandler)
		}
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, `{"id":"or_1"}`)
	})
	post := checked(t, doc, m.Handler(order))
	failing := checked(t, doc, m.HandlerTx(func(http.ResponseWriter, *http.Request, pgx.Tx) error { return context.Canceled }))
	me := []string{"Authorization", "me"}

	want := func(resp *http.Response, status int, name string) {
		t.Helper()
		body, _ := io.ReadAll(resp.Body)
		if resp.StatusCode != status || name != "" && !strings.Contains(string(body), idemhttp.ProblemBase+name+`"`) {
			t.Errorf("%d %s, want %d %s", resp.StatusCode, body, status, name)
		}
	}
	want(post("", "{}", me...), 400, "missing-key")
	want(post("a,b", "{}", me...), 400, "malformed-key")
	want(post("k", "{}"), 401, "unauthenticated")
	want(post("k", strings.Repeat(" ", 1<<20)+"{}", me...), 413, "body-too-large")
	want(checked(t, doc, misused.Handler(order))("k", "{}"), 500, "misconfigured")
	want(checked(t, doc, unreachable.Handler(order))("k", "{}", me...), 503, "unavailable")
	want(failing("f", "{}", me...), 500, "failed")

	during = func() {
		during = nil
		want(post("k", "{}", me...), 409, "in-flight")
	}
	want(post("k", "{}", me...), 201, "")
	again := post("k", "{}", me...)
	want(again, 201, "")
	if again.Header.Get("Idempotent-Replayed") != "true" {
		t.Error("no replay")
	}
	want(post("k", `{"a":1}`, me...), 422, "key-reused")

	want(post("s", "{}", append(me, "X-Do", "stream")...), 201, "")
	want(post("s", "{}", append(me, "X-Do", "stream")...), 409, "response-not-kept")
	func() {
		defer func() { _ = recover() }()
		post("u", "{}", append(me, "X-Do", "lose")...)
	}()
	want(post("u", "{}", me...), 409, "outcome-unknown")
}
