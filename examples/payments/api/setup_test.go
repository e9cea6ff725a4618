package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/idem/idemhttp"
	"github.com/pgidem/pgidem/internal/processor"
	"github.com/pgidem/pgidem/internal/testdb"
)

// programs is where the three programs are, as go build makes them.
var programs string

func TestMain(m *testing.M) { os.Exit(buildAndRun(m)) }

func buildAndRun(m *testing.M) int {
	var err error
	if programs, err = os.MkdirTemp("", "pgidem-payments-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(programs)
	build := exec.Command("go", "build", "-buildvcs=false", "-o", programs+string(filepath.Separator), ".", "../processor", "../client")
	if said, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, said)
		return 1
	}
	return m.Run()
}

// shop is the example as a whole: a processor and an API, each a process of its own, on one database, and a front door through
// which the API is called, whichever process it is at the time.
type shop struct {
	*testing.T
	url       string // of the database
	pool      *pgxpool.Pool
	processor *processor.Process
	api       *processor.Process
	front     *front
}

// open starts both, the API with the flags.
func open(t *testing.T, flags ...string) *shop {
	t.Helper()
	t.Parallel()
	s := &shop{T: t, url: testdb.URL(t), front: openFront(t)}
	s.pool = testdb.Pool(t, s.url)
	s.processor = s.start("processor")
	s.startAPI(flags...)
	return s
}

// start starts a program until the test ends.
func (s *shop) start(name string, flags ...string) *processor.Process {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), time.Minute)
	defer cancel()
	p, err := processor.Start(ctx, filepath.Join(programs, name), s.url, flags...)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(p.Kill)
	return p
}

// startAPI starts the API, again if it was killed, and lets requests in.
func (s *shop) startAPI(flags ...string) {
	s.Helper()
	s.api = s.start("api", append([]string{"--processor=" + s.processor.URL}, flags...)...)
	s.front.lead(s.T, s.api.URL)
}

// killAPI ends the API as a crash does. Requests wait at the front door from then on.
func (s *shop) killAPI() {
	s.front.shut()
	s.api.Kill()
}

// become changes how the processor treats the API.
func (s *shop) become(b processor.Behaviour) {
	s.Helper()
	if err := s.processor.Become(s.Context(), b); err != nil {
		s.Fatal(err)
	}
}

func (s *shop) stats() processor.Stats {
	s.Helper()
	stats, err := s.processor.Stats(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	return stats
}

// wantCharges fails unless the processor has taken money n times, and the books have as many rows.
func (s *shop) wantCharges(n int64) {
	s.Helper()
	if stats := s.stats(); stats.Charges != n {
		s.Errorf("the processor has charged %d times, want %d", stats.Charges, n)
	}
	if got := s.count("SELECT count(*) FROM shop.charges WHERE refund_of IS NULL"); got != n {
		s.Errorf("the books have %d charges, want %d", got, n)
	}
}

func (s *shop) count(sql string, args ...any) (n int64) {
	s.Helper()
	if err := s.pool.QueryRow(s.Context(), sql, args...).Scan(&n); err != nil {
		s.Fatal(err)
	}
	return n
}

// status is what the row of a key says; "" where there is none.
func (s *shop) status(key string) (status string) {
	s.Helper()
	if err := s.pool.QueryRow(s.Context(), "SELECT coalesce(max(status), '') FROM idem.keys WHERE key = $1", key).Scan(&status); err != nil {
		s.Fatal(err)
	}
	return status
}

// eventually waits until ok, and fails after a minute.
func (s *shop) eventually(what string, ok func() bool) {
	s.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			s.Fatalf("not within a minute: %s", what)
		}
	}
}

// outcome is how a run of the client's program ended.
type outcome struct {
	stdout, stderr string
	code           int
	key            string // that it has printed
}

func (o outcome) replayed() bool {
	return strings.Contains(o.stderr, "an earlier try was answered with this")
}

// client runs the client's program against the API.
func (s *shop) client(args ...string) outcome {
	s.Helper()
	o, err := s.runClient(args...)
	if err != nil {
		s.Fatal(err)
	}
	return o
}

func (s *shop) runClient(args ...string) (o outcome, err error) {
	o.stdout, o.stderr, o.code, err = runProgram(s.Context(), "client", nil, append([]string{"--url=" + s.front.URL}, args...)...)
	line, _, _ := strings.Cut(o.stderr, "\n")
	o.key, _ = strings.CutPrefix(line, "key ")
	return o, err
}

// inBackground runs the client's program beside the test.
func (s *shop) inBackground(args ...string) <-chan outcome {
	ended := make(chan outcome, 1)
	go func() {
		o, err := s.runClient(args...)
		if err != nil {
			s.Errorf("client %q: %v", args, err)
		}
		ended <- o
	}()
	return ended
}

// pays runs the client's program and fails unless it ends well.
func (s *shop) pays(args ...string) outcome {
	s.Helper()
	o := s.client(args...)
	if o.code != 0 || o.key == "" || o.stdout == "" {
		s.Fatalf("client %q: %+v", args, o)
	}
	return o
}

// runProgram runs a program until it ends by itself.
func runProgram(ctx context.Context, name string, env []string, args ...string) (stdout, stderr string, code int, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(programs, name), args...)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH")}, env...)
	var out, complaint strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &complaint
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = ctx.Err()
	}
	return out.String(), complaint.String(), cmd.ProcessState.ExitCode(), err
}

// answer is a response that was read whole.
type answer struct {
	status int
	header http.Header
	body   string
}

func (a answer) replayed() bool { return a.header.Get(idemhttp.HeaderReplayed) == "true" }

// post sends one request, once, as whoever has the token.
func (s *shop) post(token, key, path, body string) answer {
	s.Helper()
	a, err := s.tryPost(token, key, path, body)
	if err != nil {
		s.Fatal(err)
	}
	return a
}

func (s *shop) tryPost(token, key, path, body string) (answer, error) {
	r, err := http.NewRequestWithContext(s.Context(), http.MethodPost, s.front.URL+path, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	r.Header.Set("Authorization", token)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set(idemhttp.HeaderKey, key)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, string(text)}, err
}

const acme = "Bearer acme-secret"

// charge49 is what the client's program sends for "charge 4900".
const charge49 = `{"card":"4242424242424242","amount_cents":4900}`
