package devpg

import (
	"context"
	"crypto/rand"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// patience bounds what a slow, busy machine may take for one step of a
// server's life when the caller's context sets no bound of its own.
const patience = 2 * time.Minute

// A Server is a PostgreSQL server that lives until Stop, or until this process
// ends. Its methods may be called concurrently.
type Server struct {
	options  Options
	binaries Binaries
	who      *syscall.Credential
	dir      string
	port     int
	password string
	watcher  *watcher

	mu      sync.Mutex
	pid     int // of the postmaster; 0 while it is down
	stopped bool
	logs    sync.WaitGroup
}

// running keeps every server that is not stopped: were one collected with its
// pipe, its watcher would remove it.
var running sync.Map

// Start makes and starts a server and returns when it accepts connections. It
// may first have to install or to download PostgreSQL; it then says so on
// standard error. ctx bounds the start, not the server's life.
func Start(ctx context.Context, options Options) (*Server, error) {
	finder := Finder{Bin: options.Bin, Major: options.Major}
	binaries, err := finder.Find(ctx)
	if err != nil {
		return nil, err
	}
	s := &Server{options: options, binaries: binaries, password: rand.Text()}
	if err := s.begin(ctx, s.initdb); err != nil {
		return nil, err
	}
	return s, nil
}

// begin makes the server's directory, its cluster with makeCluster, and starts
// it. After an error nothing of it is left.
func (s *Server) begin(ctx context.Context, makeCluster func(context.Context) error) (err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if s.who, err = unprivileged(); err != nil {
		return err
	}
	if s.dir, err = makeDir(s.who); err != nil {
		return err
	}
	if s.watcher, err = watch(s.dir); err != nil {
		os.Remove(s.dir)
		return err
	}
	running.Store(s, nil)
	if err := makeCluster(ctx); err != nil {
		return errors.Join(err, s.Stop())
	}
	if err := s.start(ctx); err != nil {
		return errors.Join(err, s.Stop())
	}
	return nil
}

// URL is the superuser's connection string for database postgres.
func (s *Server) URL() string {
	u := url.URL{
		Scheme:   "postgres",
		User:     url.UserPassword("postgres", s.password),
		Host:     "127.0.0.1:" + strconv.Itoa(s.port),
		Path:     "/postgres",
		RawQuery: "sslmode=disable",
	}
	return u.String()
}

// Port is the server's port on 127.0.0.1. It stays the same over Restart.
func (s *Server) Port() int { return s.port }

// Dir is the server's directory: the cluster in data, its log in log, and the
// socket. Only the account that runs the server, and root, can enter it.
func (s *Server) Dir() string { return s.dir }

// Major is the server's major version, such as 16.
func (s *Server) Major() int { return s.binaries.Major }

// Bin is the directory of the server's programs.
func (s *Server) Bin() string { return s.binaries.Dir }

// PID is the process id of the postmaster, 0 while the server is down.
func (s *Server) PID() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pid
}

// Stop ends the server at once, without a checkpoint, and removes its
// directory. It may be called more than once, and on a server that is down.
func (s *Server) Stop() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return nil
	}
	s.stopped = true
	if s.pid != 0 {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if s.signal(ctx, syscall.SIGQUIT) != nil {
			s.kill()
		}
	}
	err := s.watcher.release()
	s.logs.Wait()
	running.Delete(s)
	return err
}

// Kill ends the server as a crash does: SIGKILL to the postmaster and all its
// processes. It returns when they are gone; what was committed and flushed is
// there after Restart.
func (s *Server) Kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kill()
}

func (s *Server) kill() {
	if s.pid == 0 {
		return
	}
	pids := append([]int{s.pid}, children(s.pid)...)
	for _, pid := range pids {
		_ = syscall.Kill(pid, syscall.SIGKILL) // gone already is as good
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_ = poll(ctx, func() bool { return reap(s.pid) })
	s.down()
	for _, pid := range pids[1:] {
		_ = poll(ctx, func() bool { return ended(pid) })
	}
}

// Restart starts the server again: after a clean shutdown (connections are
// ended, a checkpoint is made) when it is up, with crash recovery after Kill.
// Port, password and settings are the same.
func (s *Server) Restart(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return errors.New("devpg: restart: the server has been stopped")
	}
	if s.pid != 0 {
		if err := s.signal(ctx, syscall.SIGINT); err != nil {
			return s.failed("restart: the server does not shut down", err)
		}
	}
	return s.startLocked(ctx)
}

// signal sends the postmaster a signal that ends it, and waits for its end.
func (s *Server) signal(ctx context.Context, sig syscall.Signal) error {
	if err := syscall.Kill(s.pid, sig); err != nil {
		return err
	}
	if err := poll(ctx, func() bool { return reap(s.pid) }); err != nil {
		return err
	}
	s.down()
	return nil
}

// down notes that the postmaster is gone, here and for the watcher.
func (s *Server) down() {
	os.Remove(filepath.Join(s.dir, "pid"))
	s.pid = 0
}
