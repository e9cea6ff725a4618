package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/lab/workbench"
)

// HolderCommand is the hidden subcommand that runs Holder.
const HolderCommand = "webhook-holder"

// holderName is by which the server knows a holder's sessions.
const holderName = "webhook-holder"

// job is what a holder reads: what it is.
type job struct {
	Receiver int // of mortals
	Database string
	Conns    int
}

// line is what it writes: first where it listens, then a line for each delivery that it has in hand.
type line struct{ URL, InHand string }

// Holder is a process of the shop whose work never ends: it reads from r what it is, writes to w where it listens and what it has
// in hand, and lives until r ends or it is killed.
func Holder(ctx context.Context, r io.Reader, w io.Writer) error {
	var j job
	if err := json.NewDecoder(r).Decode(&j); err != nil {
		return fmt.Errorf("read the job: %w", err)
	}
	all := mortals()
	if j.Receiver < 0 || j.Receiver >= len(all) {
		return fmt.Errorf("there is no receiver %d", j.Receiver)
	}
	config, err := pgxpool.ParseConfig(j.Database)
	if err != nil {
		return err
	}
	config.MaxConns = int32(j.Conns)
	config.ConnConfig.RuntimeParams["application_name"] = holderName
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return err
	}
	out := tellers{to: json.NewEncoder(w)}
	receiver, _ := all[j.Receiver].build(pool, all[j.Receiver].busy, func(_ context.Context, _ pgx.Tx, e Event) error {
		out.tell(line{InHand: e.ID})
		select {}
	})
	e, err := listen(receiver)
	if err != nil {
		return err
	}
	out.tell(line{URL: e.url})
	_, err = io.Copy(io.Discard, r)
	return err
}

// tellers writes whole lines.
type tellers struct {
	mu sync.Mutex
	to *json.Encoder
}

func (t *tellers) tell(l line) {
	t.mu.Lock()
	defer t.mu.Unlock()
	_ = t.to.Encode(l) // who listens is gone, and ends this process
}

// holder is a Holder as the experiment sees it.
type holder struct {
	url string

	cmd    *exec.Cmd
	lines  *json.Decoder
	said   bytes.Buffer // on standard error
	killed func() error
}

func startHolder(ctx context.Context, bench *workbench.Bench, j job) (*holder, error) {
	h := &holder{cmd: bench.Self(ctx, HolderCommand)}
	h.cmd.Stderr, h.cmd.WaitDelay = &h.said, time.Second
	in, err := h.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := h.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := h.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start a process of the shop: %w", err)
	}
	h.lines, h.killed = json.NewDecoder(out), sync.OnceValue(h.end)
	_ = json.NewEncoder(in).Encode(j) // a process that is gone does not answer, either
	var first line
	if err := h.lines.Decode(&first); err != nil {
		killed := h.kill() // and has said all
		err = fmt.Errorf("a process of the shop does not start: %w: %s", err, bytes.TrimSpace(h.said.Bytes()))
		return nil, errors.Join(err, killed)
	}
	h.url = first.URL
	return h, nil
}

// await returns when it has n deliveries in hand.
func (h *holder) await(n int) error {
	for range n {
		if err := h.lines.Decode(new(line)); err != nil {
			_ = h.kill() // and has said all
			return fmt.Errorf("a process of the shop has ended too early: %w: %s", err, bytes.TrimSpace(h.said.Bytes()))
		}
	}
	return nil
}

// kill kills it, once, as a machine that fails does.
func (h *holder) kill() error { return h.killed() }

func (h *holder) end() error {
	_ = h.cmd.Process.Kill() // it may have ended
	ended := h.cmd.Wait()
	if status, ok := h.cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
		return fmt.Errorf("a process of the shop ended by itself (%v): %s", ended, bytes.TrimSpace(h.said.Bytes()))
	}
	return nil
}
