package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pgidem/pgidem/idem/idemhttp"
)

// binary is the program as go build makes it.
var binary string

func TestMain(m *testing.M) { os.Exit(buildAndRun(m)) }

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "pgidem-client-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "client")
	if said, err := exec.Command("go", "build", "-buildvcs=false", "-o", binary, ".").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, said)
		return 1
	}
	return m.Run()
}

// command is the program, to be run for a minute at most.
func command(t *testing.T, args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return exec.CommandContext(ctx, binary, args...)
}

// cli runs the program until it ends by itself.
func cli(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := command(t, args...)
	var out, complaint strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &complaint
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.String(), complaint.String(), cmd.ProcessState.ExitCode()
}

// sent is a request that a pretended API was sent.
type sent struct {
	*http.Request
	body string
}

// pretend is an API that answers as told, and remembers.
func pretend(t *testing.T, answer http.HandlerFunc) (url string, seen func() []sent) {
	t.Helper()
	var mu sync.Mutex
	var all []sent
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		mu.Lock()
		all = append(all, sent{r, string(body)})
		mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL, func() []sent {
		mu.Lock()
		defer mu.Unlock()
		return all
	}
}

func TestEachPaymentIsSentToItsRoute(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"charge 4900":                                       `POST /charges {"amount_cents":4900,"card":"4242424242424242"}`,
		"--card=4000000000000002 charge 1":                  `POST /charges {"amount_cents":1,"card":"4000000000000002"}`,
		"order 900000":                                      `POST /orders {"amount_cents":900000,"course":"Idempotency in practice"}`,
		"refund ch_1 4900":                                  `POST /refunds {"amount_cents":4900,"charge":"ch_1"}`,
		`refund "\x07 9007199254740993`:                     `POST /refunds {"amount_cents":9007199254740993,"charge":"\"\\x07"}`,
		"--token=globex-secret --key=a-key charge 4900":     `POST /charges {"amount_cents":4900,"card":"4242424242424242"}`,
		"--try-timeout=1m --token=acme-secret charge 00049": `POST /charges {"amount_cents":49,"card":"4242424242424242"}`,
	} {
		url, seen := pretend(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusCreated) })
		_, stderr, code := cli(t, append([]string{"--url", url + "/"}, strings.Fields(line)...)...)
		requests := seen()
		if code != 0 || len(requests) != 1 {
			t.Errorf("%s: exit code %d, %s, %d requests", line, code, stderr, len(requests))
			continue
		}
		r := requests[0]
		if got := r.Method + " " + r.URL.Path + " " + r.body; got != want {
			t.Errorf("%s: it sends %s, want %s", line, got, want)
		}
		token := "Bearer acme-secret"
		if strings.Contains(line, "globex") {
			token = "Bearer globex-secret"
		}
		if r.Header.Get("Authorization") != token || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: its header is %v", line, r.Header)
		}
		if key := r.Header.Get(idemhttp.HeaderKey); !strings.HasPrefix(stderr, "key "+key+"\n") || strings.Contains(line, "a-key") != (key == "a-key") {
			t.Errorf("%s: the key is %q, it says %q", line, key, stderr)
		}
	}
}

// Whoever runs it must be able to keep the key even if the machine dies while the request is under way.
func TestKeyIsPrintedBeforeAnythingIsSent(t *testing.T) {
	t.Parallel()
	arrived, kept := make(chan string, 1), make(chan struct{})
	url, _ := pretend(t, func(_ http.ResponseWriter, r *http.Request) {
		arrived <- r.Header.Get(idemhttp.HeaderKey)
		<-kept
	})
	cmd := command(t, "--url", url, "charge", "4900")
	pipe, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := bufio.NewReader(pipe)
	key := <-arrived
	if line, err := said.ReadString('\n'); line != "key "+key+"\n" || err != nil { // while the answer is out
		t.Errorf("it says %q (%v), the key is %q", line, err, key)
	}
	close(kept)
	if _, err := io.ReadAll(said); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

func TestOneKeyAndEqualBytesOverAllTries(t *testing.T) {
	t.Parallel()
	tries := 0
	url, seen := pretend(t, func(w http.ResponseWriter, _ *http.Request) {
		switch tries++; tries {
		case 1:
			panic(http.ErrAbortHandler)
		case 2:
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
			w.Header().Set(idemhttp.HeaderReplayed, "true")
			_, _ = io.WriteString(w, "{\"id\": \"ch_1\"}\n\n")
		}
	})
	stdout, stderr, code := cli(t, "--url", url, "charge", "4900")
	if code != 0 || stdout != "{\"id\": \"ch_1\"}\n\n" || !strings.HasSuffix(stderr, "\n200 OK (an earlier try was answered with this)\n") {
		t.Errorf("exit code %d, %q, %q", code, stdout, stderr)
	}
	all := seen()
	if len(all) != 3 {
		t.Fatalf("%d requests, want 3", len(all))
	}
	for _, r := range all {
		if r.Header.Get(idemhttp.HeaderKey) != all[0].Header.Get(idemhttp.HeaderKey) || r.body != all[0].body {
			t.Errorf("%v %s, then %v %s", all[0].Header, all[0].body, r.Header, r.body)
		}
	}
}

func TestExitCodeIsTheAnswers(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]int{200: 0, 201: 0, 204: 0, 304: 1, 400: 1, 401: 1, 402: 1, 422: 1, 500: 1} {
		url, seen := pretend(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
		_, stderr, code := cli(t, "--url", url, "charge", "4900")
		if code != want || !strings.Contains(stderr, fmt.Sprintf("\n%d ", status)) || len(seen()) != 1 {
			t.Errorf("%d: exit code %d, %q, %d requests; want %d and one", status, code, stderr, len(seen()), want)
		}
	}
}

// A key that the API may have forgotten would pay once more.
func TestKeyThatIsTooOldIsNotSent(t *testing.T) {
	t.Parallel()
	url, seen := pretend(t, func(http.ResponseWriter, *http.Request) {})
	const key = "018cc251-f400-7000-8000-000000000000" // a UUIDv7 of 2024
	_, stderr, code := cli(t, "--url", url, "--key", key, "charge", "4900")
	if code != 1 || len(seen()) != 0 || !strings.Contains(stderr, idemhttp.ErrKeyTooOld.Error()) {
		t.Errorf("exit code %d, %q, %d requests", code, stderr, len(seen()))
	}
}

func TestNoAnswerExitsWith1(t *testing.T) {
	t.Parallel()
	stdout, stderr, code := cli(t, "--url", "ftp://127.0.0.1", "charge", "4900")
	if code != 1 || stdout != "" || !strings.HasPrefix(stderr, "key ") || !strings.Contains(stderr, "\nclient: ") {
		t.Errorf("exit code %d, %q, %q", code, stdout, stderr)
	}
}

func TestWrongUseExitsWith2AndSendsNothing(t *testing.T) {
	t.Parallel()
	url, seen := pretend(t, func(http.ResponseWriter, *http.Request) {})
	for _, args := range [][]string{
		{}, {"pay", "4900"}, {"charge"}, {"charge", "4900", "--key=k"}, {"charge", "0"}, {"charge", "-1"}, {"charge", "49.00"},
		{"order"}, {"order", "49", "00"}, {"refund", "4900"}, {"refund", "ch_1"}, {"refund", "ch_1", "all"},
		{"--tip", "charge", "4900"}, {"--key"}, {"--try-timeout=soon", "charge", "4900"}, {"--try-timeout=-1s", "charge", "4900"},
		{"--key=", "charge", "4900"}, // a script whose variable is empty: not a new payment
	} {
		stdout, stderr, code := cli(t, append([]string{"--url", url}, args...)...)
		if code != 2 || stdout != "" || !strings.HasPrefix(stderr, "client: ") || !strings.Contains(stderr, "--help") {
			t.Errorf("%q: exit code %d, %q, %q; want 2", args, code, stdout, stderr)
		}
	}
	if n := len(seen()); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}

func TestHelpNamesEveryFlag(t *testing.T) {
	t.Parallel()
	stdout, stderr, code := cli(t, "--help")
	if code != 0 || stderr != "" || !strings.Contains(stdout, "charge CENTS | order CENTS | refund CHARGE CENTS") {
		t.Errorf("exit code %d, %q, %q", code, stdout, stderr)
	}
	for _, name := range []string{"url", "token", "card", "key", "try-timeout"} {
		if !strings.Contains(stdout, "\n  -"+name) {
			t.Errorf("the help does not name %s:\n%s", name, stdout)
		}
	}
}
