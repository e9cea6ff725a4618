package testdb

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/pgidem/pgidem/internal/devpg"
)

// childMode makes TestChild, in a process of its own, act as the test of some
// other package.
const childMode = "TESTDB_TEST_CHILD"

func TestChild(t *testing.T) {
	mode := os.Getenv(childMode)
	if mode == "" {
		t.Skip("only acts in a child process")
	}
	pool := New(t)
	var name string
	if err := pool.QueryRow(t.Context(), "SELECT current_database()").Scan(&name); err != nil {
		t.Fatal(err)
	}
	os.Stderr.WriteString("database " + name + "\n")
	switch mode {
	case "hold":
		_, _ = io.Copy(io.Discard, os.Stdin) // until it is killed, or told to end
	case "fail":
		t.Error("on purpose")
	}
}

// child prepares a test process in which TestChild uses a server.
func child(url, mode string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], "-test.run=^TestChild$", "-test.v")
	cmd.Env = append(os.Environ(), childMode+"="+mode, "PGIDEM_TEST_URL="+url)
	return cmd
}

// output runs a child to its end and returns what it says.
func output(t *testing.T, cmd *exec.Cmd) (string, error) {
	t.Helper()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

// databaseOf is the database that a child names in what it says.
func databaseOf(t *testing.T, out string) string {
	t.Helper()
	for line := range strings.Lines(out) {
		if name, ok := strings.CutPrefix(line, "database "); ok {
			return strings.TrimSpace(name)
		}
	}
	t.Fatalf("no database in %q", out)
	return ""
}

// hold starts a child that holds a database until end is called.
func hold(t *testing.T, url string) (cmd *exec.Cmd, database string, end func() error) {
	t.Helper()
	cmd = child(url, "hold")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	line, err := bufio.NewReader(stderr).ReadString('\n')
	if err != nil {
		t.Fatalf("the child says %q: %v", line, err)
	}
	return cmd, databaseOf(t, line), func() error {
		stdin.Close()
		return cmd.Wait()
	}
}

// admin starts a server as PGIDEM_TEST_URL would name one.
func admin(t *testing.T) (*devpg.Server, *pgx.Conn) {
	t.Helper()
	server, err := devpg.Start(t.Context(), devpg.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	conn, err := pgx.Connect(t.Context(), server.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return server, conn
}

// databases lists the test databases, templates included, on a server.
func databases(t *testing.T, conn *pgx.Conn) []string {
	t.Helper()
	rows, _ := conn.Query(t.Context(), `SELECT datname::text FROM pg_database WHERE datname LIKE 'testdb\_tpl\_%' ORDER BY 1`)
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return names
}
