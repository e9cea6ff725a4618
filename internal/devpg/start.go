package devpg

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

// initdb makes the cluster and writes its settings.
func (s *Server) initdb(ctx context.Context) error {
	log, err := s.openLog()
	if err != nil {
		return err
	}
	defer log.Close()
	pwfile := filepath.Join(s.dir, "password")
	if err := s.write(pwfile, s.password); err != nil {
		return err
	}
	defer os.Remove(pwfile)
	data := filepath.Join(s.dir, "data")
	// Through the socket anyone may in who can enter the directory.
	cmd := s.command(ctx, nil, "initdb", "--pgdata="+data, "--no-sync", "--username=postgres",
		"--pwfile="+pwfile, "--auth-local=trust", "--auth-host=scram-sha-256",
		"--encoding=UTF8", "--locale=C")
	cmd.Stdout, cmd.Stderr = log, log
	err = cmd.Run()
	os.Remove(filepath.Join(s.dir, "pid"))
	if err != nil {
		return s.failed("initdb", err)
	}
	return s.configure(s.options.conf())
}

// configure adds settings to the cluster's postgresql.conf. Of several values
// of one setting the last wins.
func (s *Server) configure(settings string) error {
	conf, err := os.OpenFile(filepath.Join(s.dir, "data", "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("devpg: %w", err)
	}
	_, err = conf.WriteString(settings)
	return errors.Join(err, conf.Close())
}

// write makes a file that only the server's account can read.
func (s *Server) write(path, text string) error {
	err := os.WriteFile(path, []byte(text), 0o600)
	if err == nil && s.who != nil {
		err = os.Chown(path, int(s.who.Uid), int(s.who.Gid))
	}
	if err != nil {
		return fmt.Errorf("devpg: %w", err)
	}
	return nil
}

// start starts the new cluster on a free port.
func (s *Server) start(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		port, err := freePort()
		if err != nil {
			return err
		}
		s.port = port
		// Another program may have taken the port since; then another port will do.
		if err := s.launch(ctx); !errors.Is(err, errPortTaken) {
			return err
		}
	}
}

// startLocked starts the cluster again on its port.
func (s *Server) startLocked(ctx context.Context) error {
	for {
		err := s.launch(ctx)
		if !errors.Is(err, errPortTaken) && !errors.Is(err, errNotYetDead) {
			return err
		}
		if ctx.Err() != nil {
			return err
		}
	}
}

var (
	errPortTaken  = errors.New("another program has its port")
	errNotYetDead = errors.New("processes of the killed server still run")
)

// launch starts the postmaster and returns when it accepts connections, or has
// ended.
func (s *Server) launch(ctx context.Context) error {
	log, err := s.openLog()
	if err != nil {
		return err
	}
	before, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return fmt.Errorf("devpg: %w", err)
	}
	out, err := s.tee(log)
	if err != nil {
		return err
	}
	// Not ctx: the server outlives its start.
	cmd := s.command(context.Background(), s.options.Env, "postgres",
		"-D", filepath.Join(s.dir, "data"),
		"-c", "listen_addresses=127.0.0.1",
		"-c", "port="+strconv.Itoa(s.port),
		"-c", "unix_socket_directories="+s.dir)
	cmd.Stdout, cmd.Stderr = out, out
	err = cmd.Start()
	out.Close()
	if err != nil {
		return s.failed("start", err)
	}
	s.pid = cmd.Process.Pid
	_ = cmd.Process.Release() // reap waits for it

	dead := false
	var refused error
	err = poll(ctx, func() bool {
		if dead = reap(s.pid); dead {
			return true
		}
		refused = s.ping(ctx)
		return refused == nil
	})
	switch {
	case dead:
		s.down()
		s.logs.Wait()
		text := s.Log()
		text = text[min(int(before), len(text)):]
		why := errors.New("the server ended at once")
		switch {
		case strings.Contains(text, "could not bind"):
			why = errPortTaken
		case strings.Contains(text, "pre-existing shared memory block"):
			why = errNotYetDead
		}
		return s.failed("start", why)
	case err != nil:
		s.kill()
		return s.failed("start: the server accepts no connections", errors.Join(err, refused))
	}
	return nil
}

// ping connects once.
func (s *Server) ping(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, s.URL())
	if err != nil {
		return err
	}
	return conn.Close(ctx)
}
