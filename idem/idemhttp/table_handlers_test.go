package idemhttp_test

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/idem/idemhttp"
)

var (
	kept     = &idem.Response{Status: 202, Body: []byte(`{"id":"ch_2"}`)}
	nothing  = func(http.ResponseWriter, *http.Request, func()) {}
	askedFor = func(_ context.Context, l *idem.Lease) { l.DownstreamKey("charge") }
	release  = func(ctx context.Context, l *idem.Lease) { _ = l.Release(ctx) }
	abandon  = func(ctx context.Context, l *idem.Lease) { _ = l.Abandon(ctx) }
	complete = func(ctx context.Context, l *idem.Lease) { _ = l.Complete(ctx, kept) }
	tiny     = idem.Policy{MaxBody: 100}
)

// outcomes are the rows of the table of outcomes, by the cell that stands first.
var outcomes = map[string]outcome{
	"200, 201, 202, 204, 301, 303, 304, 307, 308":           {handlers: statuses("200 201 202 204 301 303 304 307 308")},
	"400, 402, 404, 405, 406, 410, 412, 413, 415, 422, 451": {handlers: statuses("400 402 404 405 406 410 412 413 415 422 451")},
	"401, 403, 408, 409, 423, 425":                          {handlers: statuses("401 403 408 409 423 425")},
	"429 with Retry-After":                                  {handlers: []handlerFunc{writes(429, "later", "Retry-After", "7")}},
	"403 or 429, once a downstream key was asked for":       {handlers: under(askedFor, statuses("403 429")...)},
	"500, 502, 503, 504":                                    {handlers: statuses("500 502 503 504")},
	"429, 500 or 503 under `KeepAll`":                       {handlers: statuses("429 500 503"), keepAll: true},
	"503 after `Transient`":                                 {handlers: []handlerFunc{transient(0), transient(1)}},
	"503 after `Transient`, two downstream keys asked for":  {handlers: []handlerFunc{transient(2)}},
	"201 or 503 after `Release`":                            {handlers: under(release, statuses("201 503")...)},
	"502 after `Abandon`":                                   {handlers: under(abandon, statuses("502")...)},
	"201 after `Abandon`":                                   {handlers: under(abandon, statuses("201")...)},
	"nothing, or 500, after `Complete`":                     {handlers: under(complete, nothing, writes(500, "oops"))},
	"nothing, or 500, after a `CompleteTx` that committed":  {handlers: under(completeTx(true), nothing, writes(500, "oops"))},
	"201 after a `CompleteTx` that rolled back":             {handlers: under(completeTx(false), statuses("201")...)},
	"500 after a `CompleteTx` that rolled back":             {handlers: under(completeTx(false), statuses("500")...)},
	"nothing is written":                                    {handlers: []handlerFunc{func(_ http.ResponseWriter, _ *http.Request, charge func()) { charge() }}},
	"103, then 201": {handlers: []handlerFunc{func(w http.ResponseWriter, r *http.Request, charge func()) {
		w.Header().Set("Link", "</style.css>; rel=preload")
		w.WriteHeader(103)
		created(w, r, charge)
	}}},
	"101": {handlers: []handlerFunc{writes(101, "", "Upgrade", "x", "Connection", "Upgrade")}},
	"a panic, `http.ErrAbortHandler` or `runtime.Goexit`, also in mid-body": {handlers: breakings()},
	"an error is returned": {tx: []idemhttp.TxHandlerFunc{
		func(http.ResponseWriter, *http.Request, pgx.Tx) error { return errors.New("secret") },
		func(http.ResponseWriter, *http.Request, pgx.Tx) error { return idem.ErrInFlight }, // of a nested call
	}},
	"an SQL error is ignored, or comes at COMMIT": {tx: []idemhttp.TxHandlerFunc{
		func(_ http.ResponseWriter, r *http.Request, tx pgx.Tx) error {
			_, _ = tx.Exec(r.Context(), "SELECT 1/0")
			return nil
		},
		func(_ http.ResponseWriter, r *http.Request, tx pgx.Tx) error {
			_, err := tx.Exec(r.Context(), "INSERT INTO refunds VALUES (1)") // the constraint is deferred
			return err
		},
	}},
	"the handler ends the transaction": {tx: []idemhttp.TxHandlerFunc{
		func(_ http.ResponseWriter, r *http.Request, tx pgx.Tx) error { _ = tx.Commit(r.Context()); return nil },
		func(_ http.ResponseWriter, r *http.Request, tx pgx.Tx) error { return tx.Rollback(r.Context()) },
	}},
	"a flush":                               {handlers: []handlerFunc{flushes(200, nil)}},
	"a flush of an answer that is not kept": {handlers: []handlerFunc{flushes(500, nil)}},
	"a flush, then a panic":                 {handlers: []handlerFunc{flushes(200, func(http.ResponseWriter, *http.Request, func()) { panic("smtp") })}},
	"a flush after `Release`":               {handlers: under(release, flushes(201, nil))},
	"a body over `Policy.MaxBody`":          {handlers: []handlerFunc{writes(201, long(1)), writesOften("0123456789", 11)}, policy: tiny},
	"a body over 16 times `Policy.MaxBody`": {
		handlers: []handlerFunc{writes(201, long(20)), writesOften("0123456789", 161)}, policy: tiny},
	"a body over `Policy.MaxBody` that is not kept": {handlers: []handlerFunc{writes(500, long(2)), writes(429, long(2))}, policy: tiny},
	"a body that ends before its Content-Length": {handlers: []handlerFunc{
		writes(201, "four", "Content-Length", "9"),
		writes(201, "", "Content-Length", "9"),
		writes(201, "far too long", "Content-Length", "9"),
	}},
}

// long is a little more than times 100 bytes.
func long(times int) string { return strings.Repeat("0123456789", 10*times) + "." }

// transient is the answer to a failed call that did nothing, after keys downstream were asked for.
func transient(keys int) handlerFunc {
	return under(func(ctx context.Context, l *idem.Lease) {
		for i := range keys {
			l.DownstreamKey(string(rune('a' + i)))
		}
		idemhttp.Transient(ctx)
	}, writes(503, "the processor is down"))[0]
}

// poolContext is where a handler of the table finds the test's pool.
type poolContext struct{}

// completeTx records an answer in a transaction that commits, or not.
func completeTx(commits bool) func(context.Context, *idem.Lease) {
	return func(ctx context.Context, l *idem.Lease) {
		tx, err := ctx.Value(poolContext{}).(*pgxpool.Pool).Begin(ctx)
		if err != nil {
			panic(err)
		}
		defer tx.Rollback(ctx)
		if err := l.CompleteTx(ctx, tx, kept); err != nil {
			panic(err)
		}
		if commits {
			_ = tx.Commit(ctx)
		}
	}
}
