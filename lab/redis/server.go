package redis

import (
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

//go:embed owner.sh
var owner string

// Server is a running redis-server.
type Server struct {
	Address  string // 127.0.0.1:PORT
	Password string
	Version  string // such as 7.0.15

	program string
	dir     string // redis.conf and log
	who     *syscall.Credential
	cmd     *exec.Cmd
	pipe    *os.File // see owner.sh
}

// ErrNotInstalled is that there is no redis-server on this machine, and that it could not be installed.
var ErrNotInstalled = errors.New("redis: not installed")

var errPortTaken = errors.New("another program has its port")

// Start starts a server and returns when it answers. redis-server is installed where it is missing and that may be done; otherwise
// the error names the command to run.
func Start(ctx context.Context) (_ *Server, err error) {
	s := &Server{Password: rand.Text()}
	if s.program, err = find(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotInstalled, err)
	}
	if s.who, err = unprivileged(); err != nil {
		return nil, fmt.Errorf("redis: %w", err)
	}
	for {
		err := s.launch(ctx)
		if err == nil {
			return s, nil
		}
		s.Close()
		if !errors.Is(err, errPortTaken) {
			return nil, fmt.Errorf("redis: %w", err)
		}
	}
}

// Close ends the server, and what it held is gone.
func (s *Server) Close() {
	if s.cmd != nil {
		s.pipe.Close()
		_ = s.cmd.Wait() // its status is the shell's
		s.cmd = nil
	}
}

// Client is a client of the server, to be closed.
func (s *Server) Client() *redis.Client { return s.Pool(0) }

// Pool is a client of the server with up to conns connections, to be closed. 0: the driver's own choice.
func (s *Server) Pool(conns int) *redis.Client {
	return redis.NewClient(&redis.Options{Addr: s.Address, Password: s.Password, PoolSize: conns})
}

func (s *Server) launch(ctx context.Context) (err error) {
	port := 20000 + mathrand.IntN(12000) // below the ports of outgoing connections
	s.Address = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	if s.dir, err = os.MkdirTemp("/tmp", "pgidem-redis-"); err != nil { // not TMPDIR, which the account may not enter
		return err
	}
	if err := s.run(port); err != nil {
		return errors.Join(err, os.RemoveAll(s.dir))
	}
	if err := s.answers(ctx); err != nil {
		if strings.Contains(s.log(), "in use") {
			return errPortTaken
		}
		return fmt.Errorf("it does not start: %w\n%s", err, s.log())
	}
	return nil
}

func (s *Server) run(port int) error {
	conf, log := filepath.Join(s.dir, "redis.conf"), filepath.Join(s.dir, "log")
	settings := fmt.Sprintf("bind 127.0.0.1\nport %d\nrequirepass %s\ndir %s\nlogfile %s\nsave \"\"\nappendonly no\n",
		port, s.Password, s.dir, log)
	if err := errors.Join(os.WriteFile(conf, []byte(settings), 0o600), give(s.who, s.dir, conf)); err != nil {
		return err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	s.cmd = exec.Command("/bin/sh", "-c", owner, "redis-owner", s.program, s.dir)
	s.cmd.Dir, s.cmd.ExtraFiles = "/", []*os.File{r}
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: s.who}
	if err := s.cmd.Start(); err != nil {
		s.cmd = nil
		return errors.Join(err, w.Close())
	}
	s.pipe = w
	return nil
}

// answers waits until a client is answered, or until the log says that none will be.
func (s *Server) answers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	client := s.Client()
	defer client.Close()
	for tick := time.NewTicker(10 * time.Millisecond); ; <-tick.C {
		if strings.Contains(s.log(), "in use") {
			return errPortTaken // and whoever has it may answer
		}
		info, err := client.InfoMap(ctx, "server").Result()
		switch {
		case err == nil:
			s.Version = info["Server"]["redis_version"]
			return nil
		case ctx.Err() != nil:
			return err
		}
	}
}

func (s *Server) log() string {
	text, _ := os.ReadFile(filepath.Join(s.dir, "log"))
	return string(text)
}
