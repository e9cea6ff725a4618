// Run runs a command, typically go test, with a PostgreSQL server of its own:
//
//	go run ./internal/devpg/run -- go test ./...
//
// The command finds the server's URL in PGIDEM_TEST_URL, and several test
// binaries share one server. If the variable is set already, the command just
// runs. Run exits with the command's code (128 and the signal's number when a
// signal ended it), 127 or 126 when the command cannot be started, 1 when no
// server can, 2 when it is called wrongly. (go run turns every code but 0
// into 1.)
package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/pgidem/pgidem/internal/devpg"
)

// variable names the server to the tests.
const variable = "PGIDEM_TEST_URL"

func main() {
	os.Exit(run(os.Args[1:]))
}

func run(args []string) int {
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		fmt.Fprintln(os.Stderr, "usage: go run ./internal/devpg/run -- command [argument ...]")
		return 2
	}
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)

	if os.Getenv(variable) == "" {
		server, err := start(signals)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer server.Stop()
		os.Setenv(variable, server.URL())
	}
	return execute(args, signals)
}

// start starts the server; a signal interrupts it.
func start(signals <-chan os.Signal) (*devpg.Server, error) {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	go func() {
		select {
		case s := <-signals:
			cancel(fmt.Errorf("%s", s))
		case <-ctx.Done():
		}
	}()
	server, err := devpg.Start(ctx, devpg.Options{})
	if err != nil && ctx.Err() != nil {
		return nil, fmt.Errorf("devpg: interrupted: %w", context.Cause(ctx))
	}
	return server, err
}

// execute runs the command, passes it every signal, and returns its exit code.
func execute(args []string, signals <-chan os.Signal) int {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		fmt.Fprintf(os.Stderr, "devpg: cannot start %s: %s\n", args[0], err)
		if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
			return 127
		}
		return 126
	}
	done := make(chan struct{})
	defer close(done)
	go func() {
		for {
			select {
			case s := <-signals:
				_ = cmd.Process.Signal(s) // it may have ended
			case <-done:
				return
			}
		}
	}()
	err := cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		fmt.Fprintf(os.Stderr, "devpg: %s: %s\n", args[0], err)
		return 1
	}
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return cmd.ProcessState.ExitCode()
}
