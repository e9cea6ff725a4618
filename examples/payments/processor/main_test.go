package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pgidem/pgidem/internal/processor"
	"github.com/pgidem/pgidem/internal/testdb"
)

// binary is the program as go build makes it.
var binary string

var payment = processor.Request{AmountCents: 49_00, Card: "4242424242424242", Reference: "order 1"}

// starterOf makes the test binary a process that starts the program named there, prints its address, and lives until it is killed.
const starterOf = "PROCESSOR_TEST_STARTER_OF"

func TestMain(m *testing.M) {
	if path := os.Getenv(starterOf); path != "" {
		starter(path)
	}
	os.Exit(buildAndRun(m))
}

func starter(path string) {
	p, err := processor.Start(context.Background(), path, os.Getenv("DATABASE_URL"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(p.URL)
	select {}
}

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "pgidem-processor-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "processor")
	if out, err := exec.Command("go", "build", "-buildvcs=false", "-o", binary, ".").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// start starts the program on a database, until the test ends.
func start(t *testing.T, url string, flags ...string) *processor.Process {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	p, err := processor.Start(ctx, binary, url, flags...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	return p
}

// cli runs the program until it ends by itself.
func cli(t *testing.T, env []string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}, env...)
	var out, complaint strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &complaint
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.String(), complaint.String(), cmd.ProcessState.ExitCode()
}

func TestProgramChargesAsItsFlagsSay(t *testing.T) {
	t.Parallel()
	p := start(t, testdb.Empty(t), "--repeat=error", "--conflict=error", "--asked=landed", "--latency=1ms", "--lag=2ms",
		"--slow-call=3", "--unavailable=1", "--drop=1")
	want := processor.Behaviour{
		Repeat: processor.RepeatError, Conflict: processor.ConflictError, Asked: processor.AskedLanded,
		Latency: time.Millisecond, Lag: 2 * time.Millisecond, SlowCall: 3, Unavailable: 1, Drop: 1,
	}
	if got, err := p.Behaviour(t.Context()); err != nil || got != want {
		t.Errorf("it behaves as %+v, %v; want %+v", got, err, want)
	}
	_, err := p.Charge(t.Context(), "k-1", payment)
	if !errors.Is(err, processor.ErrUnavailable) {
		t.Errorf("first call: %v", err)
	}
	if _, err := p.Charge(t.Context(), "k-1", payment); err == nil || errors.Is(err, processor.ErrUnavailable) {
		t.Errorf("second call: %v", err)
	}
	if _, err := p.Charge(t.Context(), "k-1", payment); !errors.Is(err, processor.ErrDuplicate) {
		t.Errorf("third call: %v", err)
	}
	if stats, err := p.Stats(t.Context()); err != nil || stats.Charges != 1 || stats.Duplicates != 0 {
		t.Errorf("%+v, %v; want one charge", stats, err)
	}
	if err := p.Stop(); err != nil {
		t.Error(err)
	}
}

func TestTermLetsWhatHasArrivedLand(t *testing.T) {
	t.Parallel()
	url := testdb.Empty(t)
	p := start(t, url, "--hold")
	answered := make(chan error, 1)
	go func() {
		_, err := p.Charge(context.WithoutCancel(t.Context()), "k-1", payment)
		answered <- err
	}()
	pending(t, p)
	if err := p.Stop(); err != nil {
		t.Error(err)
	}
	if err := <-answered; err != nil {
		t.Errorf("the call that had arrived: %v", err)
	}
	if r, err := start(t, url).FindCharge(t.Context(), "k-1"); err != nil || r.Status != processor.Succeeded {
		t.Errorf("the next process finds %+v, %v", r, err)
	}
}

func TestProgramEndsWithTheProcessThatStartedIt(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), starterOf+"="+binary, "DATABASE_URL="+testdb.Empty(t))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("%q, %v", line, err)
	}
	client := processor.Client{URL: strings.TrimSpace(line)}
	if _, err := client.Stats(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(30 * time.Second); err == nil; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it lives on")
		}
		_, err = client.Stats(t.Context())
	}
	_ = cmd.Wait() // it was killed
}

// pending returns once a call has arrived and not landed.
func pending(t *testing.T, p *processor.Process) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
		switch stats, err := p.Stats(t.Context()); {
		case err != nil:
			t.Fatal(err)
		case stats.Pending > 0:
			return
		case time.Now().After(deadline):
			t.Fatal("no call arrives")
		}
	}
}

func TestKillLosesWhatHasNotLandedAndNothingElse(t *testing.T) {
	t.Parallel()
	url := testdb.Empty(t)
	p := start(t, url)
	if _, err := p.Charge(t.Context(), "k-1", payment); err != nil {
		t.Fatal(err)
	}
	if err := p.Become(t.Context(), processor.Behaviour{Hold: true}); err != nil {
		t.Fatal(err)
	}
	cut := make(chan error, 1)
	go func() {
		_, err := p.Charge(context.WithoutCancel(t.Context()), "k-2", payment)
		cut <- err
	}()
	pending(t, p)
	p.Kill()
	if err := <-cut; err == nil {
		t.Error("the killed process has answered")
	}
	if err := p.Stop(); err == nil {
		t.Error("Stop says that a killed process ended well")
	}
	next := start(t, url)
	if r, err := next.Charge(t.Context(), "k-1", payment); err != nil || !r.Replayed {
		t.Errorf("the key that was charged: %+v, %v", r, err)
	}
	if _, err := next.FindCharge(t.Context(), "k-2"); !errors.Is(err, processor.ErrNothing) {
		t.Errorf("the key that had not landed: %v", err)
	}
}

func TestWrongUseExitsWith2(t *testing.T) {
	t.Parallel()
	for line, says := range map[string]string{
		"--tip":                 "flag provided but not defined: -tip",
		"serve":                 `unexpected argument "serve"`,
		"--repeat=perhaps":      `"perhaps" is none of replay, error, charge`,
		"--conflict=perhaps":    `"perhaps" is none of wait, error`,
		"--asked=perhaps":       `"perhaps" is none of pending, landed, nothing, refuse`,
		"--latency=long":        "-latency",
		"--latency=-1s":         "must not be negative",
		"--unavailable-rate=2":  "must be 0 to 1",
		"--unavailable-rate=no": "-unavailable-rate",
		"--drop":                "flag needs an argument",
	} {
		stdout, stderr, code := cli(t, nil, strings.Fields(line)...)
		if code != 2 || stdout != "" || !strings.Contains(stderr, says) || !strings.Contains(stderr, "--help") {
			t.Errorf("%s: exit code %d, %q, %q; want 2, %s", line, code, stdout, stderr, says)
		}
	}
}

func TestHelpNamesEveryFlag(t *testing.T) {
	t.Parallel()
	stdout, stderr, code := cli(t, nil, "--help")
	if code != 0 || stderr != "" {
		t.Errorf("exit code %d, %q", code, stderr)
	}
	for _, name := range strings.Fields(`database-url listen until-eof repeat conflict asked latency lag hold slow-call decline-all
		unavailable unavailable-rate drop`) {
		if !strings.Contains(stdout, "\n  -"+name) {
			t.Errorf("the help does not name %s:\n%s", name, stdout)
		}
	}
}

func TestFailureExitsWith1AndWithoutThePassword(t *testing.T) {
	t.Parallel()
	for what, url := range map[string]string{
		"no server": "postgres://app:hunter2@127.0.0.1:1/shop",
		"no port":   "postgres://app:hunter2@127.0.0.1:port/shop",
		"no URL":    "hunter2",
	} {
		for _, run := range [][]string{{"--database-url", url}, {"DATABASE_URL=" + url}} {
			var env, args []string
			if len(run) == 2 {
				args = run
			} else {
				env = run
			}
			stdout, stderr, code := cli(t, env, args...)
			if code != 1 || stdout != "" || !strings.HasPrefix(stderr, "processor: ") || strings.Contains(stderr, "hunter2") {
				t.Errorf("%s, %v: exit code %d, %q, %q", what, run, code, stdout, stderr)
			}
		}
	}
	url := testdb.Empty(t)
	p := start(t, url)
	_, stderr, code := cli(t, []string{"DATABASE_URL=" + url}, "--listen", strings.TrimPrefix(p.URL, "http://"))
	if code != 1 || !strings.Contains(stderr, "address already in use") {
		t.Errorf("a port in use: exit code %d, %q", code, stderr)
	}
}

func TestStartSaysWhyTheProgramEnds(t *testing.T) {
	t.Parallel()
	for _, flag := range []string{"--tip", "--database-url=postgres://127.0.0.1:1/shop"} {
		if _, err := processor.Start(t.Context(), binary, "", flag); err == nil || !strings.Contains(err.Error(), "processor: ") {
			t.Errorf("%s: %v", flag, err)
		}
	}
	if _, err := processor.Start(t.Context(), binary+"-none", ""); err == nil {
		t.Error("a program that is not there starts")
	}
}

func TestReadyLineIsAllThatItSays(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(binary, "--database-url", testdb.Empty(t))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	said := bufio.NewReader(out)
	line, err := said.ReadString('\n')
	address, ok := strings.CutPrefix(line, "listening on ")
	if !ok || err != nil {
		t.Fatalf("it says %q, %v", line, err)
	}
	if _, err := (processor.Client{URL: strings.TrimSpace(address)}).Stats(t.Context()); err != nil {
		t.Errorf("once it is ready: %v", err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(said); len(rest) != 0 || err != nil {
		t.Errorf("then it says %q, %v", rest, err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("after TERM: %v", err)
	}
}
