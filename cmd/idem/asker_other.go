//go:build !unix

package main

import "os/exec"

// apart does nothing: what a shell starts is not known here.
func apart(*exec.Cmd) {}

// killWhole kills the shell alone.
func killWhole(cmd *exec.Cmd) error { return cmd.Process.Kill() }
