package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// binary is idem as go build makes it; stock is the migrate CLI of golang-migrate itself.
var binary, stock string

// patience bounds a step on a slow, busy machine.
const patience = 2 * time.Minute

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "pgidem-cli-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary, stock = filepath.Join(dir, "idem"), filepath.Join(dir, "migrate")
	for _, build := range [][]string{
		{"build", "-buildvcs=false", "-o", binary, "."},
		{"build", "-buildvcs=false", "-tags", "pgx5", "-o", stock, "github.com/golang-migrate/migrate/v4/cmd/migrate"},
	} {
		if out, err := exec.Command("go", build...).CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "go %s: %v\n%s", strings.Join(build, " "), err, out)
			return 1
		}
	}
	return m.Run()
}

// A call is one run of a program, and what it said.
type call struct {
	out, err string
	code     int
}

// cli runs idem on the database at url ("": none is named) and returns when it has ended.
func cli(t *testing.T, url string, args ...string) call {
	t.Helper()
	p := start(t, url, args...)
	return p.wait(t)
}

// A process is a run that has not ended.
type process struct {
	cmd      *exec.Cmd
	out, err *lockedBuffer
	drained  <-chan struct{} // nil: err is complete when the process has ended; else when this is closed
	ended    chan struct{}   // closed when failure is set
	failure  error
}

// start starts the CLI. It is killed at the end of the test.
func start(t *testing.T, url string, args ...string) *process {
	t.Helper()
	var env []string
	if url != "" {
		env = []string{"DATABASE_URL=" + url}
	}
	return startWith(t, env, binary, args...)
}

// startWith starts a program with nothing of this process's environment that names a database.
func startWith(t *testing.T, env []string, program string, args ...string) *process {
	t.Helper()
	p := newProcess(env, program, args...)
	p.start(t)
	return p
}

func newProcess(env []string, program string, args ...string) *process {
	p := &process{cmd: exec.Command(program, args...), out: &lockedBuffer{}, err: &lockedBuffer{}, ended: make(chan struct{})}
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "PG") && !strings.HasPrefix(variable, "DATABASE_URL=") {
			p.cmd.Env = append(p.cmd.Env, variable)
		}
	}
	p.cmd.Env = append(p.cmd.Env, env...)
	p.cmd.Stdout, p.cmd.Stderr = p.out, p.err
	return p
}

func (p *process) start(t *testing.T) {
	t.Helper()
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		p.failure = p.cmd.Wait()
		if p.drained != nil {
			<-p.drained
		}
		close(p.ended)
	}()
	t.Cleanup(func() { _ = p.cmd.Process.Kill() }) // it may have ended
}

func (p *process) wait(t *testing.T) call {
	t.Helper()
	select {
	case <-p.ended:
		var exit *exec.ExitError
		if p.failure != nil && !errors.As(p.failure, &exit) {
			t.Fatal(p.failure)
		}
		return call{p.out.String(), p.err.String(), p.cmd.ProcessState.ExitCode()}
	case <-time.After(patience):
		_ = p.cmd.Process.Kill()
		t.Fatalf("%v does not end; it has said\n%s%s", p.cmd.Args, p.out, p.err)
		return call{}
	}
}

// want checks the exit code and that each text is said on either stream.
func (c call) want(t *testing.T, code int, texts ...string) call {
	t.Helper()
	if c.code != code {
		t.Errorf("exit code %d, want %d", c.code, code)
	}
	for _, text := range texts {
		if !strings.Contains(c.out+c.err, text) {
			t.Errorf("it does not say %q", text)
		}
	}
	if t.Failed() {
		t.Fatalf("stdout:\n%s\nstderr:\n%s", c.out, c.err)
	}
	return c
}

// until waits for a condition that the process brings about while it runs.
func (p *process) until(t *testing.T, what string, done func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-p.ended:
			if !done() {
				t.Fatalf("%v ends before %s; it has said\n%s%s", p.cmd.Args, what, p.out, p.err)
			}
			return
		case <-ctx.Done():
			t.Fatalf("it does not come about that %s; %v has said\n%s%s", what, p.cmd.Args, p.out, p.err)
		case <-tick.C:
		}
	}
}

// eventually waits for a condition that something else brings about.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-ctx.Done():
			t.Fatalf("it does not come about that %s", what)
		case <-tick.C:
		}
	}
}

// signal sends a signal to the running process.
func (p *process) signal(t *testing.T, signal os.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
}

// lockedBuffer is read while a process writes it.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
