package idemhttp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/idem/idemhttp"
	"github.com/pgidem/pgidem/internal/testdb"
)

// childGrace makes a process of the API one that goes when it is asked to, by SIGTERM: this long what runs may go on.
const childGrace = "IDEMHTTP_TEST_GRACE"

// lastWords is how long, after the grace, what was cut off may take to say so.
const lastWords = 500 * time.Millisecond

// pace is the header by which a request says how long its handler takes after its effect: one of these, or no time.
const (
	pace      = "X-Pace"
	paceHeeds = "heeds" // 1.5 s, or until its context ends
	paceDeaf  = "deaf"  // 1.5 s, whatever happens
	paceLate  = "late"  // 600 ms, whatever happens: longer than the grace, and shorter than the process lives
)

// serveUntilTerm serves what serveAPI does, at the pace of each request, until SIGTERM; then it goes as a process should.
func serveUntilTerm() error {
	asked, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	grace, err := time.ParseDuration(os.Getenv(childGrace))
	if err != nil {
		return err
	}
	config, err := pgxpool.ParseConfig(os.Getenv(childDatabase))
	if err != nil {
		return err
	}
	config.MaxConns = 20
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		return err
	}
	var p policy
	if err := json.Unmarshal([]byte(os.Getenv(childPolicy)), &p); err != nil {
		return err
	}
	store := &idem.Store{NoCoalescing: testdb.NoCoalescing(), Pool: pool, Policy: idem.Policy{Lease: p.Lease, Wait: p.Wait, Stale: p.Stale}}
	m := &idemhttp.Middleware{Store: store, Tenant: idemhttp.SingleTenant}
	mux := http.NewServeMux()
	mux.Handle("POST /charges", m.Handler(slowPayment(os.Getenv(childProcessor))))
	mux.Handle("POST /orders", m.HandlerTx(takeOrderSlowly))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: mux}
	served := make(chan error, 2)
	go func() { served <- server.Serve(listener) }()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		served <- fmt.Errorf("the test has ended")
	}()
	fmt.Println("http://" + listener.Addr().String())
	select {
	case <-asked.Done():
	case err := <-served:
		return err
	}

	server.SetKeepAlivesEnabled(false)
	_ = listener.Close() // who comes now goes to the other process
	last, cancel := context.WithTimeout(context.Background(), grace+lastWords)
	defer cancel()
	drain, cancel := context.WithTimeout(last, grace)
	defer cancel()
	_ = store.Drain(drain) // that work was cut off is what the test is about
	_ = server.Shutdown(last)
	return nil
}

// dawdle lets time go by as r says. false: it was told to stop.
func dawdle(r *http.Request) bool {
	switch r.Header.Get(pace) {
	case paceHeeds:
		select {
		case <-time.After(1500 * time.Millisecond):
		case <-r.Context().Done():
			return false
		}
	case paceDeaf:
		time.Sleep(1500 * time.Millisecond)
	case paceLate:
		time.Sleep(600 * time.Millisecond)
	}
	return true
}

// slowPayment charges, and then takes its time to answer.
func slowPayment(processor string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status, body, err := callCards(r, processor)
		if err != nil || !dawdle(r) {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		w.WriteHeader(status)
		_, _ = w.Write(body)
	})
}

func takeOrderSlowly(w http.ResponseWriter, r *http.Request, tx pgx.Tx) error {
	if err := takeOrder(w, r, tx); err != nil {
		return err
	}
	dawdle(r)
	return nil
}
