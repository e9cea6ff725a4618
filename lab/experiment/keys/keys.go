// Package keys compares UUIDv4 with UUIDv7 keys in a primary key that is too large for shared_buffers (article 003).
package keys

import (
	"context"
	"errors"
	"fmt"

	"github.com/pgidem/pgidem/lab/trials"
	"github.com/pgidem/pgidem/lab/workbench"
)

// Keys is the experiment.
type Keys struct {
	Rows     int // keys inserted into each table
	Payments int // sent through the product when its table is that large
}

// New is the experiment at full size.
func New() *Keys { return &Keys{Rows: 300_000, Payments: 1000} }

// MinRows is how many rows make an index that outgrows the least shared_buffers with which a server works.
const MinRows = 50_000

// Check implements workbench.Experiment.
func (k *Keys) Check() error {
	switch {
	case k.Rows < MinRows || k.Rows%inserts != 0:
		return fmt.Errorf("--rows is %d; it must be at least %d, in steps of %d", k.Rows, MinRows, inserts)
	case k.Payments < rounds || k.Payments%rounds != 0:
		return fmt.Errorf("--payments is %d; it must be at least %d, in steps of %d", k.Payments, rounds, rounds)
	}
	return nil
}

const (
	inserts     = 50 // statements that fill a table, of equally many rows; one is a transaction
	checkpoints = 10 // while a table is filled: each comes after equally many rows
	rounds      = 5  // in which the payments are sent
)

// Run implements workbench.Experiment.
func (k *Keys) Run(ctx context.Context, b *workbench.Bench) (_ workbench.Result, err error) {
	var servers []*server // one for each kind, so that neither reads what the other has cached
	for _, kind := range kinds {
		s, startErr := k.start(ctx, b, kind)
		if startErr != nil {
			return nil, startErr
		}
		defer func() { err = errors.Join(err, s.Close()) }()
		servers = append(servers, s)
	}
	result := &Result{
		Rows: k.Rows, RowsPerInsert: k.Rows / inserts, RowsPerCheckpoint: k.Rows / checkpoints,
		SharedBuffersBytes: k.sharedBuffers(), Settings: k.settings(),
	}
	for _, t := range tables {
		filled, err := k.fill(ctx, b, t, servers)
		if err != nil {
			return nil, fmt.Errorf("keys: %s: %w", t.name, err)
		}
		result.Tables = append(result.Tables, filled)
	}
	if result.Payments, err = k.pay(ctx, b, servers); err != nil {
		return nil, fmt.Errorf("keys: Store.Do: %w", err)
	}
	return result, nil
}

// fill fills a table of each server by turns, and measures.
func (k *Keys) fill(ctx context.Context, b *workbench.Bench, t table, servers []*server) (Table, error) {
	step, ended := b.Progress("keys: "+t.name, inserts*len(servers))
	defer ended()
	var turns []func(context.Context) (Insert, error)
	for _, s := range servers {
		turn := 0
		turns = append(turns, func(ctx context.Context) (Insert, error) {
			if turn++; turn%(inserts/checkpoints) == 1 {
				if err := s.checkpoint(ctx); err != nil {
					return Insert{}, err
				}
			}
			return s.insert(ctx, t, k.Rows/inserts)
		})
	}
	filled := Table{Name: t.name}
	all, err := trials.Run(ctx, trials.Plan{Turns: inserts, Step: step}, turns...)
	if err != nil {
		return filled, err
	}
	for i, s := range servers {
		kind, err := s.measure(ctx, t, all[i])
		if err != nil {
			return filled, err
		}
		filled.Kinds = append(filled.Kinds, kind)
	}
	return filled, nil
}
