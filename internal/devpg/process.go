package devpg

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// wrapper writes its pid where the watcher finds it, and then becomes the
// program in its arguments: there is no moment at which the program runs and
// the watcher does not know it.
const wrapper = `echo $$ >"$0/pid" && exec "$@"`

// command prepares a program of the server's PostgreSQL to run in the server's
// directory, as its account, in a session of its own.
func (s *Server) command(ctx context.Context, env []string, program string, args ...string) *exec.Cmd {
	return s.commandOf(ctx, s.binaries, env, program, args...)
}

// commandOf is command for a program of another PostgreSQL.
func (s *Server) commandOf(ctx context.Context, b Binaries, env []string, program string, args ...string) *exec.Cmd {
	path := filepath.Join(b.Dir, program)
	cmd := exec.CommandContext(ctx, "/bin/sh", append([]string{"-c", wrapper, s.dir, path}, args...)...)
	cmd.Dir = s.dir
	cmd.Env = append(b.environ(), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: s.who}
	return cmd
}

// reap reports whether this process's child pid has ended. It takes no
// goroutine, so that a server which runs until its process ends is no leak
// to a test that looks for leaked goroutines.
func reap(pid int) bool {
	for {
		got, err := syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		return err != nil || got == pid
	}
}

// ended reports whether the process pid is gone, or a zombie.
func ended(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return true
	}
	state, _, ok := procStat(pid)
	return ok && (state == 'Z' || state == 'X')
}

// children lists the processes whose parent is pid: from /proc, or where
// there is none from ps.
func children(pid int) []int {
	var pids []int
	if stats, _ := filepath.Glob("/proc/[0-9]*/stat"); len(stats) > 0 {
		for _, stat := range stats {
			child, _ := strconv.Atoi(filepath.Base(filepath.Dir(stat)))
			if _, parent, ok := procStat(child); ok && parent == pid {
				pids = append(pids, child)
			}
		}
		return pids
	}
	out, _ := exec.Command("ps", "-A", "-o", "pid=,ppid=").Output()
	for line := range bytes.Lines(out) {
		if f := bytes.Fields(line); len(f) == 2 && string(f[1]) == strconv.Itoa(pid) {
			child, _ := strconv.Atoi(string(f[0]))
			pids = append(pids, child)
		}
	}
	return pids
}

// procStat reads the state and the parent of a process from Linux's /proc.
func procStat(pid int) (state byte, parent int, ok bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, 0, false
	}
	// pid (name) state parent …: the name may hold spaces and parentheses.
	f := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(f) < 2 {
		return 0, 0, false
	}
	parent, err = strconv.Atoi(string(f[1]))
	return f[0][0], parent, err == nil
}

// poll calls done every 10 ms until it returns true, or ctx ends.
func poll(ctx context.Context, done func() bool) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
	return nil
}
