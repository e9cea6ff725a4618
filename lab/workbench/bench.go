// Package workbench is what the lab's experiments have in common: what one is, and the servers and processes that it runs on.
package workbench

import (
	"context"
	"errors"
	"fmt"
	"os/exec"

	"github.com/pgidem/pgidem/lab/database"
	"github.com/pgidem/pgidem/lab/payments"
	"github.com/pgidem/pgidem/lab/redis"
)

// Bench gives an experiment what it runs on. The zero value is ready; a Bench is used by one goroutine.
type Bench struct {
	// SkipRedis leaves out what needs a redis-server, also where there is one.
	SkipRedis bool
	// Say is told what is going on, a line at a time; nil: nobody is.
	Say func(line string)
	// Steps is told of a run of so many steps before it starts, and what it returns of each step, from any goroutine, and of
	// the end; nil: nobody is.
	Steps func(name string, steps int) (step, ended func())
	// Self is this program again, to run a hidden subcommand in a process of its own. nil: experiments that kill processes
	// cannot run.
	Self func(ctx context.Context, args ...string) *exec.Cmd

	postgres, redis string // versions
}

// Database starts a PostgreSQL server for the caller alone, with the product's schema and the lab's, a pool of conns
// connections and these settings; nil: the server's defaults. Close ends it.
func (b *Bench) Database(ctx context.Context, conns int, settings map[string]string) (*database.Database, error) {
	b.say("Starting a PostgreSQL server ...")
	db, err := database.Start(ctx, conns, settings)
	if err != nil {
		return nil, err
	}
	b.postgres = db.Version
	return db, nil
}

// ErrSkipped is why a row has no figures; its text is what stands there instead.
type ErrSkipped struct{ Why string }

func (e *ErrSkipped) Error() string { return "skipped: " + e.Why }

// Redis starts a redis-server for the caller alone; Close ends it. Where there is none, or with SkipRedis, the error is an
// ErrSkipped.
func (b *Bench) Redis(ctx context.Context) (*redis.Server, error) {
	if b.SkipRedis {
		return nil, &ErrSkipped{"--skip-redis"}
	}
	b.say("Starting a redis-server ...")
	server, err := redis.Start(ctx)
	if errors.Is(err, redis.ErrNotInstalled) {
		b.say("%s", err)
		return nil, &ErrSkipped{"no redis-server"}
	}
	if err != nil {
		return nil, err
	}
	b.redis = server.Version
	return server, nil
}

// Programs builds those of examples/payments; Close removes them.
func (b *Bench) Programs(ctx context.Context) (*payments.Programs, error) {
	b.say("Building the payments example ...")
	return payments.Build(ctx)
}

// Versions are those of the PostgreSQL and the Redis that were started last; empty: none was.
func (b *Bench) Versions() (postgres, redis string) { return b.postgres, b.redis }

// Progress shows a run of so many steps. Call step after each, from any goroutine, and ended once.
func (b *Bench) Progress(name string, steps int) (step, ended func()) {
	if b.Steps == nil {
		return func() {}, func() {}
	}
	return b.Steps(name, steps)
}

func (b *Bench) say(format string, args ...any) {
	if b.Say != nil {
		b.Say(fmt.Sprintf(format, args...))
	}
}
