package main

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
)

// asRun makes the test binary the program itself.
const asRun = "DEVPG_TEST_RUN"

func TestMain(m *testing.M) {
	if os.Getenv(asRun) != "" {
		main()
	}
	os.Exit(m.Run())
}

// command prepares the program to run with these arguments.
func command(args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), asRun+"=1", variable+"=")
	return cmd
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

func TestExitCodeIsTheCommands(t *testing.T) {
	for _, c := range []struct {
		claim string
		args  []string
		want  int
		says  string
	}{
		{"success", []string{"--", "true"}, 0, ""},
		{"without --", []string{"true"}, 0, ""},
		{"its own code", []string{"--", "sh", "-c", "exit 3"}, 3, ""},
		{"128 and the signal", []string{"--", "sh", "-c", "kill -KILL $$"}, 137, ""},
		{"not found", []string{"--", "no-such-command"}, 127, "cannot start no-such-command"},
		{"not executable", []string{"--", "/etc/passwd"}, 126, "cannot start /etc/passwd"},
		{"no command", nil, 2, "usage:"},
	} {
		t.Run(c.claim, func(t *testing.T) {
			t.Parallel()
			cmd := command(c.args...)
			var said bytes.Buffer
			cmd.Stderr = &said
			if got := code(t, cmd.Run()); got != c.want {
				t.Errorf("exit code %d, want %d", got, c.want)
			}
			if !strings.Contains(said.String(), c.says) {
				t.Errorf("it says %q, want %q", said.String(), c.says)
			}
		})
	}
}

func TestCommandHasAServerThatEndsWithIt(t *testing.T) {
	t.Parallel()
	cmd := command("--", "sh", "-c", "trap 'exit 7' TERM; echo $"+variable+"; while :; do sleep 0.1; done")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	url = strings.TrimSpace(url)
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	var dir string
	if err := conn.QueryRow(t.Context(), "SHOW data_directory").Scan(&dir); err != nil {
		t.Fatal(err)
	}

	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if got := code(t, cmd.Wait()); got != 7 {
		t.Errorf("exit code %d, want that of the command's trap: the signal is not forwarded", got)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Errorf("%s is still there", dir)
	}
	if err := conn.Ping(t.Context()); err == nil {
		t.Error("the server is still there")
	}
}

func TestServerOfTheVariableIsUsed(t *testing.T) {
	t.Parallel()
	cmd := command("--", "sh", "-c", "echo $"+variable)
	cmd.Env = append(cmd.Env, variable+"=postgres://elsewhere/db", "PGIDEM_PG_BIN=/nonexistent")
	out, err := cmd.Output()
	if err != nil || strings.TrimSpace(string(out)) != "postgres://elsewhere/db" {
		t.Errorf("the command sees %q (%v)", out, err)
	}
}

func TestNoServerIsExitCode1WithTheReason(t *testing.T) {
	t.Parallel()
	cmd := command("--", "echo", "ran")
	cmd.Env = append(cmd.Env, "PGIDEM_PG_BIN=/nonexistent")
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if got := code(t, cmd.Run()); got != 1 || out.Len() > 0 {
		t.Errorf("exit code %d, the command says %q", got, out.String())
	}
	if !strings.Contains(said.String(), "PGIDEM_PG_BIN") {
		t.Errorf("it says %q", said.String())
	}
}
