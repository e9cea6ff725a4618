//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// apart gives the command a process group, so that it can be killed with all that its shell starts.
func apart(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return killWhole(cmd) }
}

// killWhole kills what is left of a command that was started.
func killWhole(cmd *exec.Cmd) error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
