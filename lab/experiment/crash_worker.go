package experiment

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

// crashJob is what a worker reads first: what it is.
type crashJob struct {
	Design        int // of crashDesigns
	Database      string
	Processor     string
	RedisAddress  string
	RedisPassword string
}

// crashRequest is a payment to handle.
type crashRequest struct {
	Payment design.Payment
	Die     design.Point // where the worker kills itself; empty: nowhere
}

// crashAnswer is what became of it.
type crashAnswer struct {
	Outcome design.Outcome
	Unknown bool   // idem.ErrOutcomeUnknown
	Failure string // any other error
}

// CrashWorker handles payments with one design: it reads from r what it is, then one request after the other, writes to w what
// became of each, and ends with r. Where a request tells it to die, it sends itself a SIGKILL.
func CrashWorker(ctx context.Context, r io.Reader, w io.Writer) error {
	requests, answers := json.NewDecoder(r), json.NewEncoder(w)
	var job crashJob
	if err := requests.Decode(&job); err != nil {
		return fmt.Errorf("read the job: %w", err)
	}
	if job.Design < 0 || job.Design >= len(crashDesigns) {
		return fmt.Errorf("there is no design %d", job.Design)
	}
	config, err := pgxpool.ParseConfig(job.Database)
	if err != nil {
		return err
	}
	config.MaxConns = 4 // it has one payment in hand
	b := crashBench{redis: redis.NewClient(&redis.Options{Addr: job.RedisAddress, Password: job.RedisPassword})}
	if b.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return err
	}
	var request crashRequest
	b.at = func(p design.Point) {
		if p == request.Die {
			die()
		}
	}
	b.card = design.NewCard(job.Processor, b.at)
	d := crashDesigns[job.Design].build(b)
	for {
		request = crashRequest{}
		switch err := requests.Decode(&request); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("read a request: %w", err)
		}
		o, err := d.Pay(ctx, request.Payment)
		if err := answers.Encode(answer(o, err)); err != nil {
			return err
		}
	}
}

func answer(o design.Outcome, err error) crashAnswer {
	a := crashAnswer{Outcome: o}
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
