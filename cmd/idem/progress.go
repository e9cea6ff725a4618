package main

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/term"
)

// A progress is one line on a terminal, written over and over. On anything else it writes nothing.
type progress struct {
	to    io.Writer // nil: no terminal
	dirty bool
}

func newProgress(to io.Writer) *progress {
	if file, ok := to.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		return &progress{to: to}
	}
	return &progress{}
}

func (p *progress) show(format string, args ...any) {
	if p.to != nil {
		fmt.Fprintf(p.to, "\r"+format+"\x1b[K", args...)
		p.dirty = true
	}
}

// clear leaves an empty line for what comes next.
func (p *progress) clear() {
	if p.dirty {
		fmt.Fprint(p.to, "\r\x1b[K")
		p.dirty = false
	}
}
