package devpg

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

//go:embed watcher.sh
var watcherScript string

// A watcher is a process in a session of its own that outlives this one by a
// moment: when this process ends, however it ends, it kills the server and
// removes the server's directory. It learns of the end from a pipe whose only
// write end is here.
type watcher struct {
	dir  string
	pipe *os.File
	cmd  *exec.Cmd
}

// watch starts the watcher of dir. Do that before anything is started in dir.
func watch(dir string) (*watcher, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("devpg: %w", err)
	}
	defer r.Close()
	cmd := exec.Command("/bin/sh", "-c", watcherScript, "devpg-watcher", dir)
	cmd.Dir = "/"
	cmd.ExtraFiles = []*os.File{r}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		w.Close()
		return nil, fmt.Errorf("devpg: start the watcher: %w", err)
	}
	return &watcher{dir: dir, pipe: w, cmd: cmd}, nil
}

// release has the watcher kill what still runs and remove the directory, and
// waits for that. If somebody has killed the watcher, it removes the directory
// itself.
func (w *watcher) release() error {
	w.pipe.Close()
	if err := w.cmd.Wait(); err == nil {
		return nil
	}
	if err := errors.Join(os.RemoveAll(w.dir), os.RemoveAll(w.dir+".gone")); err != nil {
		return fmt.Errorf("devpg: %w", err)
	}
	return nil
}
