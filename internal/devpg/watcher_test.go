package devpg

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// gone is twice the 5 s in which a server disappears after its process: the
// machine may be busy.
const gone = 10 * time.Second

// TestServerDoesNotOutliveItsProcess ends a process that has started a server
// in every way there is.
func TestServerDoesNotOutliveItsProcess(t *testing.T) {
	for _, c := range []struct {
		mode   string
		signal syscall.Signal // 0: the child ends by itself
	}{
		{"kill", syscall.SIGKILL},
		{"group", syscall.SIGKILL}, // with all of its process group, as CI runners do
		{"term", syscall.SIGTERM},
		{"interrupt", syscall.SIGINT},
		{"quit", syscall.SIGQUIT},
		{"down", syscall.SIGKILL}, // the server has crashed before
		{"panic", 0},
		{"exit", 0},
	} {
		t.Run(c.mode, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), childMode+"="+c.mode)
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			var postmaster, watcher int
			var dir string
			line, err := bufio.NewReader(out).ReadString('\n')
			if err == nil {
				_, err = fmt.Sscan(line, &postmaster, &watcher, &dir)
			}
			if err != nil {
				t.Fatalf("the child says %q: %v", line, err)
			}
			pids := []int{watcher}
			if postmaster != 0 {
				pids = append(append(pids, postmaster), children(postmaster)...)
			}
			if c.signal != 0 {
				whom := cmd.Process.Pid
				if c.mode == "group" {
					whom = -whom
				}
				if err := syscall.Kill(whom, c.signal); err != nil {
					t.Fatal(err)
				}
			}
			_ = cmd.Wait() // its status is the signal's, the panic's or 0

			begun := time.Now()
			for _, pid := range pids {
				eventually(t, gone, fmt.Sprintf("process %d of %v ends", pid, pids), func() bool { return ended(pid) })
			}
			for _, d := range []string{dir, dir + ".gone"} {
				eventually(t, gone, d+" is removed", func() bool {
					_, err := os.Stat(d)
					return os.IsNotExist(err)
				})
			}
			t.Logf("gone after %s", time.Since(begun))
		})
	}
}

// TestInitdbDoesNotOutliveItsProcess kills a process whose server is being
// made, at several moments.
func TestInitdbDoesNotOutliveItsProcess(t *testing.T) {
	for _, moment := range []string{"", "log", "data/postgresql.conf", "data/base/1", "data/postmaster.pid", "pid"} {
		tmp := openTemp(t)
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), childMode+"=kill")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		eventually(t, time.Minute, "the child gets to "+moment, func() bool {
			at, _ := filepath.Glob(filepath.Join(tmp, "pgidem-*", moment))
			return len(at) > 0
		})
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // killed
		eventually(t, gone, "after "+moment+" nothing is left", func() bool { return len(left(t, tmp)) == 0 })
		eventually(t, gone, "after "+moment+" no process is left", func() bool { return len(using(tmp)) == 0 })
	}
}

// using lists, on Linux, the processes with dir in their command line.
func using(dir string) []string {
	var found []string
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		line, _ := os.ReadFile(file)
		if bytes.Contains(line, []byte(dir)) {
			found = append(found, strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return found
}
