package main

import (
	"github.com/spf13/pflag"

	"github.com/pgidem/pgidem/lab/experiment/sweep"
)

func sweepCommand() *command {
	s := sweep.New()
	return &command{
		Experiment: s,
		Name:       "sweep",
		Short:      "Delete a million expired keys beside claims",
		Long: `Sweep fills the table with expired keys and sweeps them: half of them beside
claims that come at a steady rate, in pairs with claims without a sweep, and the
rest alone. It measures the rate, the longest statement, what claims feel of it,
how fast abandoned keys are found in so large a table, and what autovacuum and
VACUUM make of it afterwards.

Every expired key must go, no other one may, and no claim may fail.`,
		Example: `  lab sweep
  lab sweep --rows 200000 --batch 500
  lab sweep --beside 10000000   # takes a quarter of an hour and 10 GB`,
		Flags: func(f *pflag.FlagSet) {
			f.IntVar(&s.Rows, "rows", s.Rows, "expired keys, at least two batches for each of the pairs")
			f.IntVar(&s.Beside, "beside", s.Beside, "finished keys that have not expired")
			f.IntVar(&s.Batch, "batch", s.Batch, "keys that one statement deletes at most")
			f.IntVar(&s.Pairs, "pairs", s.Pairs, "of claims beside a sweep and claims without one")
			f.IntVar(&s.Rate, "rate", s.Rate, "claims a second")
		},
		Apart: true,
	}
}
