package idemhttp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/idem/idemhttp"
	"github.com/pgidem/pgidem/internal/testdb"
)

// Some tests run the API in processes of its own, to have several of them and to kill one. Such a process is this test binary,
// told by the environment what to serve.
const (
	childDatabase  = "IDEMHTTP_TEST_DATABASE"
	childProcessor = "IDEMHTTP_TEST_PROCESSOR"
	childPolicy    = "IDEMHTTP_TEST_POLICY" // a policy as JSON
)

// policy is what a process of the API is told of its idem.Policy.
type policy struct {
	Lease, Wait time.Duration
	Stale       idem.StalePolicy
}

// serveAPI serves POST /charges, which charges at the processor (lease mode), and POST /orders, which writes a row (atomic mode).
// It prints its address, and ends when its parent closes the other end of its input or has ended.
func serveAPI() error {
	pool, err := pgxpool.New(context.Background(), os.Getenv(childDatabase))
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
	mux.Handle("POST /charges", m.Handler(payment(os.Getenv(childProcessor))))
	mux.Handle("POST /orders", m.HandlerTx(takeOrder))
	mux.HandleFunc("GET /health", func(http.ResponseWriter, *http.Request) {})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println("http://" + listener.Addr().String())
	ended := make(chan error, 2)
	go func() { ended <- http.Serve(listener, mux) }()
	go func() {
		_, err := io.Copy(io.Discard, os.Stdin)
		ended <- err
	}()
	return <-ended
}

// takeOrder writes a charge whose note is the request's key, and answers with the row's id.
func takeOrder(w http.ResponseWriter, r *http.Request, tx pgx.Tx) error {
	var id int64
	err := tx.QueryRow(r.Context(), "INSERT INTO charges (note) VALUES ($1) RETURNING id", r.Header.Get("Idempotency-Key")).Scan(&id)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	fmt.Fprintf(w, `{"order":%d}`, id)
	return nil
}

// api is a process of the API.
type api struct {
	*exec.Cmd
	url string
}

// startAPI starts a process of the API; it ends with the test.
func (s *shop) startAPI(p policy) *api {
	s.Helper()
	told, err := json.Marshal(p)
	if err != nil {
		s.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childDatabase+"="+s.pool.Config().ConnString(), childProcessor+"="+s.cards.URL, childPolicy+"="+string(told))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		s.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		s.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		s.Fatal("the API's process did not start: ", err)
	}
	return &api{cmd, strings.TrimSpace(address)}
}
