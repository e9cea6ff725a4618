package devpg

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Log is what the server has logged so far.
func (s *Server) Log() string {
	log, _ := os.ReadFile(s.logPath())
	return string(log)
}

func (s *Server) logPath() string { return filepath.Join(s.dir, "log") }

// failed says what failed and shows the end of the server's log.
func (s *Server) failed(what string, err error) error {
	log := s.Log()
	const tail = 2000
	if len(log) > tail {
		log = "…" + log[len(log)-tail:]
	}
	if log == "" {
		return fmt.Errorf("devpg: %s: %w", what, err)
	}
	return fmt.Errorf("devpg: %s: %w; the end of its log:\n%s", what, err, log)
}

func (s *Server) openLog() (*os.File, error) {
	f, err := os.OpenFile(s.logPath(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("devpg: %w", err)
	}
	return f, nil
}

// tee returns a file to which a postmaster can log: log itself, or a pipe from
// which a goroutine copies into log and Options.Log until the postmaster and
// all its processes have ended.
func (s *Server) tee(log *os.File) (*os.File, error) {
	if s.options.Log == nil {
		return log, nil
	}
	r, w, err := os.Pipe()
	if err != nil {
		log.Close()
		return nil, fmt.Errorf("devpg: %w", err)
	}
	s.logs.Go(func() {
		defer log.Close()
		defer r.Close()
		_, _ = io.Copy(io.MultiWriter(log, s.options.Log), r)
		_, _ = io.Copy(log, r) // should Options.Log fail, the server goes on
	})
	return w, nil
}
