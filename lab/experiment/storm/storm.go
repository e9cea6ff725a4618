// Package storm is article 003's duplicate storm: every payment several times, in shuffled order, from many workers at once,
// through the article's five designs and the product's two modes.
package storm

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pgidem/pgidem/lab/database"
	"github.com/pgidem/pgidem/lab/lineup"
	"github.com/pgidem/pgidem/lab/workbench"
)

// Storm is the experiment.
type Storm struct {
	Keys    int           // payments, each with a key of its own
	Copies  int           // of each
	Workers int           // that send at once, over as many connections
	Delay   time.Duration // of a charge
	Trials  int           // of everything that is counted

	Delays    []time.Duration // of charges, one after the other, for the second part
	DelayKeys int             // payments in it
}

// New is the article's storm, three times.
func New() *Storm {
	return &Storm{
		Keys:    1000,
		Copies:  5,
		Workers: 100,
		Delay:   20 * time.Millisecond,
		Trials:  3,

		Delays:    []time.Duration{1 * time.Millisecond, 5 * time.Millisecond, 20 * time.Millisecond, 100 * time.Millisecond},
		DelayKeys: 300, // fewer than Keys: at the longest delay they take a second
	}
}

// Check reports the first size that makes no experiment.
func (s *Storm) Check() error {
	switch {
	case s.Keys < 1:
		return fmt.Errorf("--keys is %d; it must be at least 1", s.Keys)
	case s.Copies < 2:
		return fmt.Errorf("--copies is %d; it must be at least 2, for a payment sent once cannot be charged twice by a retry", s.Copies)
	case s.Workers < 2 || s.Workers > database.MaxConns:
		return fmt.Errorf("--workers is %d; it must be 2 to %d", s.Workers, database.MaxConns)
	case s.Delay < 0:
		return fmt.Errorf("--delay is %s; it must not be negative", s.Delay)
	case s.Trials < 2:
		return fmt.Errorf("--trials is %d; it must be at least 2, to see how far counts differ", s.Trials)
	case s.DelayKeys < 1:
		return fmt.Errorf("--delay-keys is %d; it must be at least 1", s.DelayKeys)
	case len(s.Delays) < 2:
		return fmt.Errorf("--delays are %d; there must be at least 2, to compare them", len(s.Delays))
	}
	for i, d := range s.Delays {
		if d <= 0 || i > 0 && d <= s.Delays[i-1] {
			return fmt.Errorf("--delays has %s; each must be above zero and above the one before it", d)
		}
	}
	return nil
}

// Run sends the storms and counts.
func (s *Storm) Run(ctx context.Context, b *workbench.Bench) (_ workbench.Result, err error) {
	l, err := lineup.Open(ctx, b, s.Workers)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	r := &Result{
		Keys: s.Keys, Copies: s.Copies, Workers: s.Workers, Trials: s.Trials, DelaySeconds: s.Delay.Seconds(), DelayKeys: s.DelayKeys,
	}
	if r.Rows, err = s.storms(ctx, b, l); err != nil {
		return nil, err
	}
	if r.Slow, err = s.slow(ctx, b, l); err != nil {
		return nil, err
	}
	if r.Rehearsals, err = s.rehearse(ctx, b, l); err != nil {
		return nil, err
	}
	return r, nil
}
