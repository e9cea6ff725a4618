package crash

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"syscall"
	"time"
)

// process is a worker as its client sees it.
type process struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	send    *json.Encoder
	receive *json.Decoder
	said    bytes.Buffer // on standard error
}

// startWorker starts a worker that lives until end, its own death, or the end of ctx.
func (r *run) startWorker(ctx context.Context) (*process, error) {
	p := &process{cmd: r.bench.Self(ctx, WorkerCommand)}
	p.cmd.Stderr, p.cmd.WaitDelay = &p.said, time.Second
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start a worker: %w", err)
	}
	p.send, p.receive = json.NewEncoder(p.in), json.NewDecoder(out)
	_ = p.send.Encode(r.job) // a worker that is gone does not answer, either
	return p, nil
}

// pay sends one request. killed: the worker has died of a SIGKILL over it.
func (p *process) pay(r request) (a answer, killed bool, err error) {
	err = p.send.Encode(r)
	if err == nil {
		err = p.receive.Decode(&a)
	}
	if err == nil {
		return a, false, nil
	}
	p.in.Close()
	ended := p.cmd.Wait()
	if status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signal() == syscall.SIGKILL {
		return a, true, nil
	}
	return a, false, fmt.Errorf("the worker ends (%v): %w: %s", ended, err, bytes.TrimSpace(p.said.Bytes()))
}

// end lets the worker go.
func (p *process) end() error {
	p.in.Close()
	if err := p.cmd.Wait(); err != nil {
		return fmt.Errorf("the worker ends: %w: %s", err, bytes.TrimSpace(p.said.Bytes()))
	}
	return nil
}
