package crash

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"syscall"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/lab/design"
)

// job is what a worker reads first: what it is.
type job struct {
	Variant       int // its index
	Database      string
	Processor     string
	RedisAddress  string
	RedisPassword string
}

// request is a payment to handle.
type request struct {
	Payment design.Payment
	Die     design.Point // where the worker kills itself; empty: nowhere
}

// answer is what became of it.
type answer struct {
	Outcome design.Outcome
	Unknown bool   // idem.ErrOutcomeUnknown
	Failure string // any other error
}

// WorkerCommand is the subcommand that runs Worker on its standard input and output.
const WorkerCommand = "crash-worker"

// Worker handles payments with one design: it reads from r what it is, then one request after the other, writes to w what
// became of each, and ends with r. Where a request tells it to die, it sends itself a SIGKILL.
func Worker(ctx context.Context, r io.Reader, w io.Writer) error {
	requests, answers := json.NewDecoder(r), json.NewEncoder(w)
	var mine job
	if err := requests.Decode(&mine); err != nil {
		return fmt.Errorf("read the job: %w", err)
	}
	if mine.Variant < 0 || mine.Variant >= len(variants) {
		return fmt.Errorf("there is no design %d", mine.Variant)
	}
	config, err := pgxpool.ParseConfig(mine.Database)
	if err != nil {
		return err
	}
	config.MaxConns = 4 // it has one payment in hand
	p := parts{redis: redis.NewClient(&redis.Options{Addr: mine.RedisAddress, Password: mine.RedisPassword})}
	if p.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return err
	}
	var now request
	p.at = func(point design.Point) {
		if point == now.Die {
			die()
		}
	}
	p.card = design.NewCard(mine.Processor, p.at)
	d := variants[mine.Variant].build(p)
	for {
		now = request{}
		switch err := requests.Decode(&now); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("read a request: %w", err)
		}
		o, err := d.Pay(ctx, now.Payment)
		if err := answers.Encode(answerOf(o, err)); err != nil {
			return err
		}
	}
}

func answerOf(o design.Outcome, err error) answer {
	a := answer{Outcome: o}
	switch {
	case errors.Is(err, idem.ErrOutcomeUnknown):
		a.Unknown = true
	case err != nil:
		a.Failure = err.Error()
	}
	return a
}

// die is the crash: no deferred call runs, and nobody is told.
func die() {
	_ = syscall.Kill(syscall.Getpid(), syscall.SIGKILL)
	select {}
}
