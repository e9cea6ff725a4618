package pgbouncer

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

//go:embed owner.sh
var owner string

// A Bouncer is a running PgBouncer.
type Bouncer struct {
	t       testing.TB
	program string
	dir     string // pgbouncer.ini and log
	who     *syscall.Credential
	url     string

	cmd  *exec.Cmd // nil while it is down
	pipe *os.File  // see owner.sh
}

var errPortTaken = errors.New("another program has its port")

// Start starts a PgBouncer before the server of a connection string (with the user and password in it) and returns the string
// that leads through it to the same database. It ends with the test; a failed test's log shows its log. It installs PgBouncer
// where it may; otherwise the test fails with the command to run.
func Start(t testing.TB, serverURL string, options Options) (string, *Bouncer) {
	t.Helper()
	b := &Bouncer{t: t}
	if err := b.create(serverURL, options); err != nil {
		t.Fatalf("pgbouncer: %s", err)
	}
	return b.url, b
}

// Stop ends the process at once: its clients lose their connections, as they do when a pooler crashes.
func (b *Bouncer) Stop() {
	if b.cmd == nil {
		return
	}
	_, _ = b.pipe.WriteString("end\n") // a process that has ended by itself does not read it
	b.pipe.Close()
	_ = b.cmd.Wait() // its status is the signal's
	b.cmd = nil
}

// Restart starts the process again on its port, after Stop or in place of one that runs.
func (b *Bouncer) Restart() {
	b.t.Helper()
	b.Stop()
	if err := b.launch(); err != nil {
		b.t.Fatalf("pgbouncer: restart: %s", err)
	}
}

func (b *Bouncer) create(serverURL string, options Options) error {
	server, err := pgx.ParseConfig(serverURL)
	if err != nil {
		return err
	}
	u, err := url.Parse(serverURL)
	if err != nil {
		return err
	}
	if b.program, err = find(); err != nil {
		return err
	}
	version, err := versionOf(b.program)
	if err != nil {
		return err
	}
	if options.MaxPreparedStatements != 0 && !version.hasPreparedStatements() {
		return fmt.Errorf("version %s has no max_prepared_statements; 1.21 or newer is needed", version)
	}
	if b.who, err = unprivileged(); err != nil {
		return err
	}
	if b.dir, err = os.MkdirTemp("/tmp", "pgidem-bouncer-"); err != nil { // not t.TempDir, which the account may not enter
		return err
	}
	b.t.Cleanup(b.end)
	for {
		port := 20000 + rand.IntN(12000) // below the ports of outgoing connections, which could sit on it while it restarts
		u.Host = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		query := u.Query()
		query.Del("host")
		query.Del("port")
		query.Set("sslmode", "disable")
		u.RawQuery = query.Encode()
		b.url = u.String()
		if err := b.write("pgbouncer.ini", options.config(server, port, version)); err != nil {
			return err
		}
		if err := b.launch(); !errors.Is(err, errPortTaken) {
			return err
		}
	}
}

func (b *Bouncer) end() {
	b.Stop()
	if b.t.Failed() {
		b.t.Logf("PgBouncer's log:\n%s", b.log())
	}
	os.RemoveAll(b.dir)
}

// launch starts the process and returns when a query goes through it.
func (b *Bouncer) launch() error {
	log, err := os.Create(filepath.Join(b.dir, "log"))
	if err != nil {
		return err
	}
	defer log.Close()
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	b.cmd = exec.Command("/bin/sh", "-c", owner, "pgbouncer-owner", b.program, b.dir)
	b.cmd.Dir, b.cmd.Stdout, b.cmd.Stderr, b.cmd.ExtraFiles = "/", log, log, []*os.File{r}
	b.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: b.who}
	if err := b.cmd.Start(); err != nil {
		w.Close()
		b.cmd = nil
		return err
	}
	b.pipe = w
	err = b.answers()
	if err != nil {
		b.Stop()
		if strings.Contains(b.log(), "in use") {
			return errPortTaken
		}
	}
	return err
}

// answers waits until a query goes through, or until the log says that it never will.
func (b *Bouncer) answers() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for tick := time.NewTicker(20 * time.Millisecond); ; <-tick.C {
		conn, err := pgx.Connect(ctx, b.url)
		if err == nil {
			_, err = conn.Exec(ctx, "SELECT 1")
			conn.Close(ctx)
		}
		switch log := b.log(); {
		case err == nil:
			return nil
		case ctx.Err() != nil, strings.Contains(log, "FATAL"):
			return fmt.Errorf("it does not start: %w\n%s", err, log)
		}
	}
}

func (b *Bouncer) log() string {
	text, _ := os.ReadFile(filepath.Join(b.dir, "log"))
	return string(text)
}

// write makes a file that only the process's account can read.
func (b *Bouncer) write(name, text string) error {
	path := filepath.Join(b.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return err
	}
	if b.who == nil {
		return nil
	}
	return errors.Join(os.Chown(b.dir, int(b.who.Uid), int(b.who.Gid)), os.Chown(path, int(b.who.Uid), int(b.who.Gid)))
}

// unprivileged returns whom PgBouncer runs as, because it refuses root: nil, the caller itself, unless that is root.
func unprivileged() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	nobody, err := user.Lookup("nobody")
	if err != nil {
		return nil, err
	}
	uid, err := strconv.ParseUint(nobody.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(nobody.Gid, 10, 32)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, err
}
