package main

import (
	"fmt"

	"github.com/spf13/pflag"

	"github.com/pgidem/pgidem/lab/experiment/race"
)

func raceCommand() *command {
	r := race.New()
	return &command{
		Experiment: r,
		Name:       "race",
		Short:      "Send one payment from eight workers at the same instant",
		Long: `Race repeats article 000's first experiment: workers that send one payment under
one key, released from a barrier at the same instant, through check-then-insert
under each isolation level, SELECT FOR UPDATE, a primary key behind a SELECT, a
unique index as the referee, and the product. It counts what the customer paid
and what the callers were told. Then it measures what SERIALIZABLE costs a report
that has nothing to do with payments.`,
		Example: `  lab race
  lab race --workers 20 --trials 10
  lab race --json | jq '.result.designs[] | {design, charges: [.trials[].charges]}'`,
		Flags: func(f *pflag.FlagSet) {
			f.IntVar(&r.Workers, "workers", r.Workers, fmt.Sprintf("how many send at once, 2 to %d", race.MaxWorkers))
			f.IntVar(&r.Trials, "trials", r.Trials, "how often each design is tried")
			f.DurationVar(&r.Delay, "delay", r.Delay, "how long a charge takes")
			f.IntVar(&r.Rounds, "rounds", r.Rounds, "how often the report is measured in each way")
			f.DurationVar(&r.Round, "round", r.Round, "how long one of them lasts")
		},
	}
}
