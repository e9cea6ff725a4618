// Package bench times and counts what an idempotency key costs: the product beside the same written by hand, beside Redis, and
// beside existing systems, all on the same work.
package bench

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/pgidem/pgidem/lab/database"
	"github.com/pgidem/pgidem/lab/workbench"
)

// Bench is the experiment.
type Bench struct {
	Operations  int // of an arm in a trial
	Workers     int // that call at once
	Connections int // to PostgreSQL, and as many to Redis
	Trials      int

	Counted int // operations of each arm that are counted instead of timed; 0: nothing is counted
	Replays int // of finished keys, counted

	Delays []time.Duration // added to every round trip
	Calls  int             // of each arm under each delay; 0: none

	Only []string // arms, by their ids; empty: all

	CPUProfile string // file for a profile of this process while arms are timed; empty: none

	settings map[string]string // of the servers, besides those that counting needs; nil: their defaults
}

// New is a full run.
func New() *Bench {
	return &Bench{
		Operations: 4000, Workers: 64, Connections: 16, Trials: 7,
		Counted: 500, Replays: 100_000,
		Delays: []time.Duration{0, time.Millisecond, 5 * time.Millisecond, 25 * time.Millisecond}, Calls: 30,
	}
}

// Check reports the first size that makes no experiment.
func (x *Bench) Check() error {
	for _, size := range []struct {
		flag         string
		value, least int
	}{
		{"workers", x.Workers, 2}, {"operations", x.Operations, x.Workers}, {"trials", x.Trials, 1}, {"counted", x.Counted, 0},
		{"replays", x.Replays, 1}, {"calls", x.Calls, 0}, {"connections", x.Connections, 2},
	} {
		if size.value < size.least {
			return fmt.Errorf("--%s is %d; it must be at least %d", size.flag, size.value, size.least)
		}
	}
	if x.Connections > database.MaxConns {
		return fmt.Errorf("--connections is %d; it must be at most %d", x.Connections, database.MaxConns)
	}
	for _, delay := range x.Delays {
		if delay < 0 || delay%time.Millisecond != 0 {
			return fmt.Errorf("--delays has %s; a delay is a whole number of milliseconds", delay)
		}
	}
	known := ids()
	for _, id := range x.Only {
		if !slices.Contains(known, id) {
			return fmt.Errorf("--only names %q; the arms are %s", id, strings.Join(known, ", "))
		}
	}
	return nil
}

// Run measures.
func (x *Bench) Run(ctx context.Context, b *workbench.Bench) (_ workbench.Result, err error) {
	r := &Result{Operations: x.Operations, Workers: x.Workers, Connections: x.Connections, Trials: x.Trials, Calls: x.Calls}
	timed, err := start(ctx, b, x.Connections, x.settings)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, timed.close()) }()
	err = profiled(x.CPUProfile, func() (err error) {
		r.Rows, err = x.time(ctx, b, timed)
		return err
	})
	if err != nil {
		return nil, err
	}
	r.Ratios = r.compare()
	if x.Calls > 0 {
		if r.Delays, err = x.delays(ctx, b, timed); err != nil {
			return nil, err
		}
	}
	if x.Counted == 0 {
		return r, nil
	}
	settings := maps.Clone(counting)
	maps.Copy(settings, x.settings)
	counted, err := start(ctx, b, x.Connections, settings)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, counted.close()) }()
	if err := x.count(ctx, b, counted, r); err != nil {
		return nil, err
	}
	return r, nil
}

// chosen are the arms that are to run, in their order.
func (x *Bench) chosen(all []arm) []arm {
	return slices.DeleteFunc(all, func(a arm) bool { return len(x.Only) > 0 && !slices.Contains(x.Only, a.id) })
}
