package devpg

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// childMode makes the test binary a process that starts a server, prints its
// processes and its directory, and ends as the variable says.
const childMode = "DEVPG_TEST_CHILD"

func TestMain(m *testing.M) {
	if mode := os.Getenv(childMode); mode != "" {
		child(mode)
	}
	os.Exit(m.Run())
}

func child(mode string) {
	server, err := Start(context.Background(), Options{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	switch mode {
	case "down":
		server.Kill()
	case "standby":
		if server, err = server.Standby(context.Background(), StandbyOptions{}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	fmt.Println(server.PID(), server.watcher.cmd.Process.Pid, server.Dir())
	switch mode {
	case "exit":
		os.Exit(0)
	case "panic":
		go panic("on purpose")
	}
	select {} // until it is killed
}

// setup starts a server for one test.
func setup(t *testing.T, options Options) *Server {
	t.Helper()
	server, err := Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	return server
}

// connect connects to a server until the end of the test.
func connect(t *testing.T, server *Server) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), server.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

// eventually fails the test unless done becomes true in time.
func eventually(t *testing.T, within time.Duration, claim string, done func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	if poll(ctx, done) != nil {
		t.Errorf("not within %s: %s", within, claim)
	}
}

// openTemp makes a directory that the server's account can enter (t.TempDir
// cannot be entered by others), and makes it os.TempDir.
func openTemp(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "devpg-test-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	t.Setenv("TMPDIR", dir)
	return dir
}

// left lists what is in a directory.
func left(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
