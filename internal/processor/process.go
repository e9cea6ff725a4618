package processor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Process is a processor that runs as a program of its own, until Stop, Kill or the end of the process that started it.
type Process struct {
	Client // of the processor

	cmd    *exec.Cmd
	said   output
	ended  chan struct{} // closed when failure is set
	failed error
}

// readyLine is how the program says where it listens.
const readyLine = "listening on "

// Start starts the program at path on a database, and returns when it listens on a port of 127.0.0.1. It is
// examples/payments/processor as go build makes it, or one that has --listen, --until-eof, DATABASE_URL and the ready line from
// it. flags are further ones, or replace the port. ctx bounds the start alone.
func Start(ctx context.Context, path, databaseURL string, flags ...string) (*Process, error) {
	p := &Process{
		cmd:   exec.Command(path, append([]string{"--listen=127.0.0.1:0", "--until-eof"}, flags...)...),
		said:  output{line: make(chan string, 1)},
		ended: make(chan struct{}),
	}
	p.cmd.Env = append(os.Environ(), "DATABASE_URL="+databaseURL)
	p.cmd.Stdout, p.cmd.Stderr = &p.said, &p.said
	if _, err := p.cmd.StdinPipe(); err != nil { // it ends with this process, and the program with it
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		p.failed = p.cmd.Wait()
		close(p.ended)
	}()
	select {
	case p.URL = <-p.said.line:
		return p, nil
	case <-p.ended:
		return nil, fmt.Errorf("processor: %s ends (%v): %s", path, p.failed, p.said.String())
	case <-ctx.Done():
		p.Kill()
		return nil, fmt.Errorf("processor: %s does not start: %w: %s", path, context.Cause(ctx), p.said.String())
	}
}

// Stop lets what has arrived land, even what is held, and ends the program; after 30 s it kills. The error says how a program
// ended that did not end well.
func (p *Process) Stop() error {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	select {
	case <-p.ended:
		return p.failed
	case <-time.After(30 * time.Second):
		p.Kill()
		return errors.New("processor: it did not stop, and was killed")
	}
}

// Kill ends the program as a crash does. What has not landed never will.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // it may have ended
	<-p.ended
}

// output keeps what a program says, and passes on where it listens.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
	line chan string
	told bool
}

func (o *output) Write(text []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text.Write(text)
	if o.told {
		return len(text), nil
	}
	for line := range strings.Lines(o.text.String()) {
		if address, ok := strings.CutPrefix(line, readyLine); ok && strings.HasSuffix(address, "\n") {
			o.told = true
			o.line <- strings.TrimSpace(address)
			break
		}
	}
	return len(text), nil
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return strings.TrimSpace(o.text.String())
}
