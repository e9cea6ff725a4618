package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// startOnTerminal starts the CLI with a terminal as its stderr.
func startOnTerminal(t *testing.T, url string, args ...string) *process {
	t.Helper()
	p, master, terminal := onTerminal(t, []string{"DATABASE_URL=" + url}, binary, args...)
	p.startOn(t, master, terminal)
	return p
}

// startAtTerminal starts the CLI with somebody at the terminal who sees its stderr and can type.
func startAtTerminal(t *testing.T, url string, args ...string) (p *process, typed func(string)) {
	t.Helper()
	return startProgramAtTerminal(t, []string{"DATABASE_URL=" + url}, "", binary, args...)
}

// startProgramAtTerminal starts any program so, in a directory.
func startProgramAtTerminal(t *testing.T, env []string, dir, program string, args ...string) (p *process, typed func(string)) {
	t.Helper()
	p, master, terminal := onTerminal(t, env, program, args...)
	p.cmd.Stdin, p.cmd.Dir = terminal, dir
	p.startOn(t, master, terminal)
	return p, func(text string) {
		t.Helper()
		if _, err := master.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
}

// onTerminal makes a process with a terminal as its stderr, and both ends of that.
func onTerminal(t *testing.T, env []string, program string, args ...string) (p *process, master, terminal *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	p = newProcess(env, program, args...)
	p.cmd.Stderr = terminal
	return p, master, terminal
}

func (p *process) startOn(t *testing.T, master, terminal *os.File) {
	t.Helper()
	defer terminal.Close()
	copied := make(chan struct{})
	p.drained = copied
	p.start(t)
	go func() {
		defer master.Close()
		_, _ = io.Copy(p.err, master) // ends with EIO when the last of the other end is closed
		close(copied)
	}()
}

func TestInterruptedPassFails(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	db.insert(t, finished("old-1", expired), finished("old-2", expired), finished("old-3", expired))
	p := startOnTerminal(t, db.url, "sweep", "--batch", "1", "--pause", "1h")
	p.until(t, "the first batch is done", func() bool { return strings.Contains(p.err.String(), "deleted 1 key") })
	p.signal(t, syscall.SIGTERM)
	p.wait(t).want(t, 1, "interrupted", "deleted 1 key in ")
}

func TestProgressIsForTerminalsOnly(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	var rows []row
	for i := range 4 {
		rows = append(rows, finished(fmt.Sprint("old-", i), expired))
	}
	db.insert(t, rows...)
	said := startOnTerminal(t, db.url, "sweep", "--batch", "1").wait(t).want(t, 0).err
	var shown []string
	for _, line := range strings.Split(strings.TrimSpace(said), "\r") {
		shown = append(shown, strings.TrimSuffix(line, "\x1b[K"))
	}
	if !slices.Contains(shown, "deleted 1 key, skipped 0 (locked)") || !slices.Contains(shown, "deleted 4 keys, skipped 0 (locked)") {
		t.Errorf("a terminal sees %q", shown)
	}
	if last := shown[len(shown)-1]; last != "" {
		t.Errorf("the last progress stays: %q", last)
	}
	db.insert(t, rows...)
	if c := cli(t, db.url, "sweep", "--batch", "1").want(t, 0); c.err != "" {
		t.Errorf("without a terminal it says %q", c.err)
	}
}
