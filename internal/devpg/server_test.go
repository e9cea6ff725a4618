package devpg

import (
	"bytes"
	"context"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"
)

func TestServerIsAsItsOptionsSay(t *testing.T) {
	t.Parallel()
	server := setup(t, Options{
		Settings: map[string]string{"autovacuum": "off", "application_name": `it's a \ name`},
		Env:      []string{"DEVPG_GREETING=hello"},
	})
	conn := connect(t, server)
	for setting, want := range map[string]string{
		"fsync":              "on",
		"synchronous_commit": "on",
		"max_connections":    "400",
		"autovacuum":         "off",
		"application_name":   `it's a \ name`,
		"listen_addresses":   "127.0.0.1",
		"port":               strconv.Itoa(server.Port()),
		"server_encoding":    "UTF8",
		"lc_messages":        "C",
		"data_directory":     filepath.Join(server.Dir(), "data"),
		"is_superuser":       "on",
	} {
		var got string
		if err := conn.QueryRow(t.Context(), "SELECT current_setting($1)", setting).Scan(&got); err != nil {
			t.Fatal(err)
		}
		if got != want {
			t.Errorf("%s is %q, want %q", setting, got, want)
		}
	}
	var collation string
	var version int
	err := conn.QueryRow(t.Context(),
		"SELECT datcollate, current_setting('server_version_num')::int FROM pg_database WHERE datname = 'postgres'",
	).Scan(&collation, &version)
	if err != nil {
		t.Fatal(err)
	}
	if collation != "C" || version/10000 != server.Major() {
		t.Errorf("collation %s, version %d; want C, major %d", collation, version, server.Major())
	}

	_, err = conn.Exec(t.Context(), "CREATE TABLE env (line text); COPY env FROM PROGRAM 'echo $DEVPG_GREETING'")
	if err != nil {
		t.Fatal(err)
	}
	var greeting string
	if err := conn.QueryRow(t.Context(), "SELECT line FROM env").Scan(&greeting); err != nil || greeting != "hello" {
		t.Errorf("the server's environment has %q (%v), want hello", greeting, err)
	}

	file, err := os.ReadFile(filepath.Join(server.Dir(), "data", "postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	if pid, _, _ := strings.Cut(string(file), "\n"); pid != strconv.Itoa(server.PID()) {
		t.Errorf("PID is %d, postmaster.pid has %s", server.PID(), pid)
	}
}

func TestServerAsksForItsPassword(t *testing.T) {
	t.Parallel()
	server := setup(t, Options{})
	url := strings.Replace(server.URL(), server.password, "guess", 1)
	conn, err := pgx.Connect(t.Context(), url)
	if err == nil {
		conn.Close(t.Context())
		t.Fatal("a wrong password is let in")
	}
}

func TestServerOfRootRunsAsAnotherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root is not to run PostgreSQL")
	}
	t.Parallel()
	server := setup(t, Options{})
	info, err := os.Stat(filepath.Join(server.Dir(), "data"))
	if err != nil {
		t.Fatal(err)
	}
	stat := info.Sys().(*syscall.Stat_t)
	if stat.Uid == 0 || stat.Uid != server.who.Uid {
		t.Errorf("the cluster belongs to user %d", stat.Uid)
	}
}

func TestStopLeavesNothing(t *testing.T) {
	t.Parallel()
	server, err := Start(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	connect(t, server)
	pids := append(children(server.PID()), server.PID(), server.watcher.cmd.Process.Pid)
	if len(pids) < 5 {
		t.Errorf("children does not see the server's processes: %v", pids)
	}
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	for _, pid := range pids {
		if !ended(pid) {
			t.Errorf("process %d still runs", pid)
		}
	}
	for _, dir := range []string{server.Dir(), server.Dir() + ".gone"} {
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%s is still there", dir)
		}
	}
	if server.PID() != 0 {
		t.Error("a stopped server has a PID")
	}
	if err := server.Stop(); err != nil {
		t.Errorf("second Stop: %v", err)
	}
	server.Kill() // nothing to kill
	if err := server.Restart(t.Context()); err == nil {
		t.Error("a stopped server restarts")
	}
}

func TestStopRemovesTheDirectoryWithoutItsWatcher(t *testing.T) {
	t.Parallel()
	server, err := Start(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := server.watcher.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(server.Dir()); err == nil {
		t.Errorf("%s is still there", server.Dir())
	}
}

func TestKilledServerKeepsWhatWasCommitted(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	server := setup(t, Options{})
	conn := connect(t, server)
	if _, err := conn.Exec(ctx, "CREATE TABLE t (v text); INSERT INTO t VALUES ('committed')"); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(ctx, "BEGIN; INSERT INTO t VALUES ('open')"); err != nil {
		t.Fatal(err)
	}
	port, pids := server.Port(), append(children(server.PID()), server.PID())

	server.Kill()
	if server.PID() != 0 {
		t.Error("a killed server has a PID")
	}
	for _, pid := range pids {
		if !ended(pid) {
			t.Errorf("process %d outlives Kill", pid)
		}
	}
	if _, err := conn.Exec(ctx, "COMMIT"); err == nil {
		t.Error("the connection outlives the server")
	}

	if err := server.Restart(ctx); err != nil {
		t.Fatal(err)
	}
	if server.Port() != port {
		t.Errorf("port %d after restart, %d before", server.Port(), port)
	}
	rows, _ := connect(t, server).Query(ctx, "SELECT v FROM t")
	got, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(got) != 1 || got[0] != "committed" {
		t.Errorf("after the crash the table holds %q (%v), want the committed row alone", got, err)
	}
	if !strings.Contains(server.Log(), "not properly shut down") {
		t.Error("the server did not notice a crash")
	}
}

func TestRestartShutsDownCleanlyAndReadsSettingsAgain(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	server := setup(t, Options{Settings: map[string]string{"max_connections": "50"}})
	pid := server.PID()
	if _, err := connect(t, server).Exec(ctx, "ALTER SYSTEM SET max_connections = 60"); err != nil {
		t.Fatal(err)
	}
	if err := server.Restart(ctx); err != nil {
		t.Fatal(err)
	}
	if server.PID() == pid {
		t.Error("the postmaster is still the same process")
	}
	var got string
	if err := connect(t, server).QueryRow(ctx, "SHOW max_connections").Scan(&got); err != nil || got != "60" {
		t.Errorf("max_connections is %q (%v), want 60", got, err)
	}
	if strings.Contains(server.Log(), "not properly shut down") {
		t.Error("Restart crashed a running server")
	}
}

func TestRestartWaitsForItsPort(t *testing.T) {
	t.Parallel()
	server := setup(t, Options{})
	server.Kill()
	squatter, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(server.Port())))
	if err != nil {
		t.Fatal(err)
	}
	defer squatter.Close()
	restarted := make(chan error, 1)
	go func() { restarted <- server.Restart(context.Background()) }()
	eventually(t, time.Minute, "the server finds its port taken", func() bool {
		return strings.Contains(server.Log(), "could not bind")
	})
	squatter.Close()
	if err := <-restarted; err != nil {
		t.Fatal(err)
	}
	connect(t, server)
}

func TestFailedStartSaysWhyAndLeavesNothing(t *testing.T) {
	tmp := openTemp(t)
	_, err := Start(t.Context(), Options{Settings: map[string]string{"shared_buffers": "plenty"}})
	if err == nil || !strings.Contains(err.Error(), "shared_buffers") || !strings.Contains(err.Error(), "plenty") {
		t.Errorf("the error does not show the server's log: %v", err)
	}
	if names := left(t, tmp); len(names) != 0 {
		t.Errorf("left behind: %s", names)
	}
}

func TestCancelledStartLeavesNothing(t *testing.T) {
	tmp := openTemp(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := Start(ctx, Options{})
		done <- err
	}()
	eventually(t, time.Minute, "initdb begins", func() bool {
		begun, _ := filepath.Glob(filepath.Join(tmp, "pgidem-*", "data", "base"))
		return len(begun) > 0
	})
	cancel()
	if err := <-done; err == nil {
		t.Error("a cancelled Start succeeds")
	}
	if names := left(t, tmp); len(names) != 0 {
		t.Errorf("left behind: %s", names)
	}
}

func TestLogReceivesTheServersLog(t *testing.T) {
	t.Parallel()
	var log lockedBuffer
	server := setup(t, Options{Log: &log})
	if _, err := connect(t, server).Exec(t.Context(), "DO $$BEGIN RAISE LOG 'a line for the log'; END$$"); err != nil {
		t.Fatal(err)
	}
	eventually(t, time.Minute, "the line is in Options.Log", func() bool {
		return strings.Contains(log.String(), "a line for the log")
	})
	if !strings.Contains(server.Log(), "a line for the log") {
		t.Error("the line is not in Log")
	}
}

func TestRunningServerHasNoGoroutine(t *testing.T) {
	before := goleak.IgnoreCurrent()
	server := setup(t, Options{})
	server.Kill()
	if err := server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	goleak.VerifyNone(t, before)
}

// lockedBuffer is a buffer that is read while it is written.
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
