// Api is the payments API of the example: a shop that takes orders (a row in its database: atomic mode), charges cards and gives
// refunds (at a card processor: lease mode). Its database has schema idem (idem migrate up) and gets schema shop, where that is
// missing.
//
//	POST /orders   {"course": "…", "customer": "…", "amount_cents": 4900}
//	POST /charges  {"card": "4242424242424242", "amount_cents": 4900, "reference": "…"}
//	POST /refunds  {"charge": "ch_1", "amount_cents": 4900}
//
// Each wants a bearer token and an Idempotency-Key. It prints "listening on http://ADDRESS" when it can be called. After SIGINT or
// SIGTERM it listens no more, running requests may end within --grace, and the keys of the rest are left to the next process; a
// second signal kills.
//
// Exit codes: 0 it was ended; 1 it failed; 2 wrong use.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
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
	config, err := pgxpool.ParseConfig(o.databaseURL)
	if err != nil {
		return errors.New("the connection string cannot be used: it is postgres://user:password@host:port/database")
	}
	return serve(ctx, o, config)
}

// serve is run with connections as config has them.
func serve(ctx context.Context, o options, config *pgxpool.Config) error {
	// A process that stops within a transaction of its own must not keep the next one from its rows.
	config.ConnConfig.RuntimeParams["idle_in_transaction_session_timeout"] = strconv.FormatInt(o.policy.Lease.Milliseconds(), 10)
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return err
	}
	defer pool.Close()
	store := &idem.Store{Pool: pool, Policy: o.policy, NoCoalescing: o.noCoalescing}
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
	drain(server, listener, store, o.grace)
	return nil
}

// lastWords is how long a request that was cut may take to answer that it was.
const lastWords = time.Second

// drain ends the serving: nobody comes in, running requests have the grace to end, and the keys of those that have not are left to
// the next process, which goes on at once and not after a lease.
func drain(server *http.Server, listener net.Listener, store *idem.Store, grace time.Duration) {
	server.SetKeepAlivesEnabled(false) // who asks again asks the next process
	_ = listener.Close()
	last, cancel := context.WithTimeout(context.Background(), grace+lastWords)
	defer cancel()
	ctx, cancel := context.WithTimeout(last, grace)
	defer cancel()
	if err := store.Drain(ctx); err != nil {
		slog.Warn("requests were cut", "err", err)
	}
	if server.Shutdown(last) != nil {
		_ = server.Close()
	}
}
