package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/pgidem/pgidem/idem/idemhttp"
)

// crashed is the API in a process of its own, which may end itself.
type crashed struct {
	url     string
	took    time.Duration // to start
	cmd     *exec.Cmd
	ended   chan struct{}
	failed  error         // how it ended
	stopped chan struct{} // closed when it has stopped itself

	mu         sync.Mutex
	statements []sentStatement
	said       bytes.Buffer
}

// startCrashing starts the API, and returns when it can be called.
func startCrashing(ctx context.Context, plan crashPlan, flags ...string) (*crashed, error) {
	c := &crashed{
		cmd:     exec.Command(os.Args[0], append([]string{"--listen=127.0.0.1:0"}, flags...)...),
		ended:   make(chan struct{}),
		stopped: make(chan struct{}),
	}
	c.cmd.Env = append(os.Environ(), plan.environment())
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.cmd.Stderr = writerOf(func(text []byte) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.said.Write(text)
	})
	if _, err := c.cmd.StdinPipe(); err != nil { // it ends with this process
		return nil, err
	}
	began := time.Now()
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	ready := make(chan string, 1)
	go c.read(out, ready)
	select {
	case c.url = <-ready:
		c.took = time.Since(began)
		return c, nil
	case <-c.ended:
		return nil, fmt.Errorf("the API does not start: %v: %s", c.failed, c.stderr())
	case <-ctx.Done():
		c.kill()
		return nil, fmt.Errorf("the API does not start in time: %s", c.stderr())
	}
}

// read reads what the API prints, until it ends.
func (c *crashed) read(out io.Reader, ready chan<- string) {
	for lines := bufio.NewScanner(out); lines.Scan(); {
		line := lines.Text()
		if address, ok := strings.CutPrefix(line, "listening on "); ok {
			ready <- address
		}
		if name, ok := strings.CutPrefix(line, tripLine); ok {
			c.note(sentStatement{name: name, first: true})
		}
		if name, ok := strings.CutPrefix(line, statementLine); ok {
			c.note(sentStatement{name: name})
		}
		if line == stoppedLine {
			close(c.stopped)
		}
	}
	c.failed = c.cmd.Wait()
	close(c.ended)
}

// sentStatement is a statement that the API has sent for a request.
type sentStatement struct {
	name  string
	first bool // of a round trip
}

func (c *crashed) note(s sentStatement) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.statements = append(c.statements, s)
}

type writerOf func([]byte)

func (w writerOf) Write(text []byte) (int, error) {
	w(text)
	return len(text), nil
}

func (c *crashed) stderr() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.TrimSpace(c.said.String())
}

// sent are the statements that it has sent for requests.
func (c *crashed) sent() []sentStatement {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.statements)
}

func (c *crashed) kill() {
	_ = c.cmd.Process.Kill() // it may have ended
	<-c.ended
}

func (c *crashed) signal(s syscall.Signal) error { return c.cmd.Process.Signal(s) }

// reply is what came of one request; err is set when nothing did.
type reply struct {
	answer
	err error
}

// problem is the name of the problem that it is, "" for none.
func (r reply) problem() string {
	_, name, _ := strings.Cut(r.body, idemhttp.ProblemBase)
	name, _, _ = strings.Cut(name, `"`)
	return name
}

// ask sends a request once.
func (c *crashed) ask(ctx context.Context, path, key, body string) (r reply) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+path, strings.NewReader(body))
	if err != nil {
		return reply{err: err}
	}
	request.Header.Set("Authorization", acme)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set(idemhttp.HeaderKey, key)
	request.GetBody = nil // net/http is not to send it again by itself
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
	if err != nil {
		return reply{err: err}
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return reply{answer{response.StatusCode, response.Header, string(text)}, err}
}

// errNoAnswer: the deadline came first.
var errNoAnswer = errors.New("no answer in time")

// askUntil sends a request again and again, as an impatient client does, until final says that it has its answer.
func (c *crashed) askUntil(ctx context.Context, path, key, body string, final func(reply) bool) (r reply, err error) {
	for {
		if r = c.ask(ctx, path, key, body); final(r) {
			return r, nil
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return r, fmt.Errorf("%w; the last was %d %s %v; the API says: %s", errNoAnswer, r.status, r.body, r.err, c.stderr())
		}
	}
}
