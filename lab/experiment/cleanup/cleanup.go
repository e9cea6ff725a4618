// Package cleanup is article 000's experiment with error paths: the clean-up that never runs and leaves a key dead, and the row
// that a clean-up deletes under somebody who is about to read it.
package cleanup

import (
	"context"
	_ "embed"
	"errors"
	"fmt"

	"github.com/pgidem/pgidem/lab/workbench"
)

// Cleanup lets the first request of many keys fail, and asks what the next ones are told.
type Cleanup struct {
	Keys int // of each design
}

// New is a full run.
func New() *Cleanup { return &Cleanup{Keys: 100} }

// Check reports the first size that makes no experiment.
func (c *Cleanup) Check() error {
	if c.Keys < 1 {
		return fmt.Errorf("--keys is %d; it must be at least 1", c.Keys)
	}
	return nil
}

// connections are enough for one request, who deletes under it, and who watches.
const connections = 8

// Run sends the requests through every design, then lets rows vanish.
func (c *Cleanup) Run(ctx context.Context, workbench *workbench.Bench) (_ workbench.Result, err error) {
	db, err := workbench.Database(ctx, connections, nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	b, err := newBench(ctx, db.Pool)
	if err != nil {
		return nil, err
	}
	defer b.close()
	result := &Result{Keys: c.Keys}
	step, ended := workbench.Progress("clean-up", len(variants())*c.Keys+len(vanishings()))
	defer ended()
	for i, v := range variants() {
		d, err := b.failing(ctx, v, i, c.Keys, step)
		if err != nil {
			return nil, fmt.Errorf("%s, %s: %w", v.Name, v.Fault, err)
		}
		result.Designs = append(result.Designs, d)
	}
	for i, v := range vanishings() {
		vanished, err := b.vanish(ctx, v, i)
		if err != nil {
			return nil, fmt.Errorf("%s, the row deleted by %s: %w", v.Handler, v.By, err)
		}
		result.Vanished = append(result.Vanished, vanished)
		step()
	}
	return result, nil
}
