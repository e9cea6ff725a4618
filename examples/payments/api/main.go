// Api is the payments API of the example: a shop that takes orders (a row in its database: atomic mode), charges cards and gives
// refunds (at a card processor: lease mode). Its database has schema idem (idem migrate up) and gets schema shop, where that is
// missing.
//
//	POST /orders   {"course": "…", "customer": "…", "amount_cents": 4900}
//	POST /charges  {"card": "4242424242424242", "amount_cents": 4900, "reference": "…"}
//	POST /refunds  {"charge": "ch_1", "amount_cents": 4900}
//
// Each wants a bearer token and an Idempotency-Key. It prints "listening on http://ADDRESS" when it can be called. SIGINT or
// SIGTERM lets running requests end; a second signal kills.
//
// Exit codes: 0 it was ended; 1 it failed; 2 wrong use.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/idem"
)

func main() {
	o, code := parse(os.Args[1:], os.Stdout, os.Stderr)
	if code >= 0 {
		os.Exit(code)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal kills
	if o.untilEOF {
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin) // an error ends it, too
			stop()
		}()
	}
	if err := run(ctx, o); err != nil {
		fmt.Fprintf(os.Stderr, "api: %v\n", err)
		os.Exit(1)
	}
}

// run serves until ctx ends.
func run(ctx context.Context, o options) error {
	pool, err := pgxpool.New(ctx, o.databaseURL)
	if err != nil {
		return errors.New("the connection string cannot be used: it is postgres://user:password@host:port/database")
	}
	defer pool.Close()
	store := &idem.Store{Pool: pool, Policy: o.policy}
	defer store.Close()
	if err := store.Check(ctx); err != nil {
		return err
	}
	if err := install(ctx, pool); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", o.listen)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: newAPI(o, pool, store).routes(), ReadHeaderTimeout: 10 * time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	fmt.Printf("listening on http://%s\n", listener.Addr())
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	return server.Shutdown(context.WithoutCancel(ctx))
}
