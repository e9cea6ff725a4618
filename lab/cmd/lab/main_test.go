package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/pgidem/pgidem/lab/experiment"
)

// asLab makes the test binary the program itself.
const asLab = "PGIDEM_TEST_AS_LAB"

func TestMain(m *testing.M) {
	if os.Getenv(asLab) != "" {
		main()
	}
	os.Exit(m.Run())
}

// lab prepares the program to run with these arguments, and what it will have said.
func lab(args ...string) (cmd *exec.Cmd, stdout, stderr *bytes.Buffer) {
	cmd = exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), asLab+"=1")
	stdout, stderr = new(bytes.Buffer), new(bytes.Buffer)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	return cmd, stdout, stderr
}

// code is the exit code of a command that has run.
func code(t *testing.T, err error) int {
	t.Helper()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	t.Fatal(err)
	return 0
}

// A storm that is small, and dense enough to charge twice on any machine.
var small = []string{"demo", "--payments=10", "--copies=10", "--workers=20", "--delay=50ms"}

func TestDemoPrintsTheTables(t *testing.T) {
	t.Parallel()
	cmd, stdout, stderr := lab(small...)
	if got := code(t, cmd.Run()); got != 0 {
		t.Fatalf("exit code %d\n%s%s", got, stdout, stderr)
	}
	for _, text := range []string{"requests/s", "no key", "check-then-act", "HandlerTx", "Handler (charges)", "paid twice", "Store.Do", "article 000", "exactly once"} {
		if !strings.Contains(stdout.String(), text) {
			t.Errorf("no %q in:\n%s", text, stdout)
		}
	}
	if strings.ContainsAny(stdout.String()+stderr.String(), "\x1b\r") {
		t.Errorf("it writes to a file as to a terminal:\n%q\n%q", stdout, stderr)
	}
	if !strings.Contains(stderr.String(), "storm: pgidem Handler (charges): 100 done in ") {
		t.Errorf("no progress in:\n%s", stderr)
	}
}

func TestDemoWritesJSON(t *testing.T) {
	t.Parallel()
	cmd, stdout, stderr := lab(append(small, "--json")...)
	if got := code(t, cmd.Run()); got != 0 {
		t.Fatalf("exit code %d\n%s", got, stderr)
	}
	var result struct {
		PostgreSQL string
		experiment.DemoResult
	}
	d := json.NewDecoder(stdout)
	if err := d.Decode(&result); err != nil || d.More() {
		t.Fatalf("not one JSON document: %v", err)
	}
	if result.PostgreSQL == "" || result.Workers != 20 || len(result.Storm) != 4 || len(result.Night) != 2 || len(result.Barrier) != 2 {
		t.Errorf("%+v", result)
	}
	for _, r := range result.Storm {
		if r.Requests != 100 || r.Once != (r.Duplicates == 0) || r.RequestsPerSecond <= 0 {
			t.Errorf("%+v", r)
		}
	}
}

func TestWrongUseIsExitCode2(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ args, says string }{
		{"calm", `unknown command "calm"`},
		{"--verbose", "unknown flag: --verbose"},
		{"demo now", `unknown command "now"`},
		{"demo --speed 9", "unknown flag: --speed"},
		{"demo --workers many", `invalid argument "many"`},
		{"demo --workers 1", "--workers is 1; it must be 2 to 350"},
		{"demo --workers 351", "--workers is 351; it must be 2 to 350"},
		{"demo --copies 1", "--copies is 1; it must be at least 2"},
		{"demo --payments 0", "--payments is 0; it must be at least 1"},
		{"demo --delay -1s", "--delay is -1s; it must not be negative"},
	} {
		t.Run(c.args, func(t *testing.T) {
			cmd, stdout, stderr := lab(strings.Fields(c.args)...)
			if got := code(t, cmd.Run()); got != 2 {
				t.Errorf("exit code %d, want 2", got)
			}
			if !strings.Contains(stderr.String(), c.says) || !strings.Contains(stderr.String(), "--help") || stdout.Len() > 0 {
				t.Errorf("it says %q and prints %q; want %q", stderr, stdout, c.says)
			}
		})
	}
}

func TestHelpNamesEveryFlag(t *testing.T) {
	t.Parallel()
	cmd, stdout, _ := lab("demo", "--help")
	if got := code(t, cmd.Run()); got != 0 {
		t.Errorf("exit code %d", got)
	}
	for _, flag := range []string{"--payments", "--copies", "--workers", "--delay", "--json"} {
		if !strings.Contains(stdout.String(), flag) {
			t.Errorf("no %s in:\n%s", flag, stdout)
		}
	}
}

func TestInterruptLeavesNothing(t *testing.T) {
	t.Parallel()
	// t.TempDir cannot be entered by the account that the server runs as.
	dir, err := os.MkdirTemp("/tmp", "lab-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd, stdout, _ := lab("demo", "--payments=2000")
	cmd.Env = append(cmd.Env, "TMPDIR="+dir)
	cmd.Stderr = nil
	said, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(said)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "storm: ") {
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	last := ""
	for lines.Scan() {
		last = lines.Text()
	}
	if got := code(t, cmd.Wait()); got != 130 || last != "lab: interrupted" || stdout.Len() > 0 {
		t.Errorf("exit code %d, %q, printed %q; want 130, interrupted, nothing", got, last, stdout)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
