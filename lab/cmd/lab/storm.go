package main

import (
	"github.com/spf13/pflag"

	"github.com/pgidem/pgidem/lab/experiment/storm"
)

func stormCommand() *command {
	s := storm.New()
	return &command{
		Experiment: s,
		Name:       "storm",
		Short:      "Send every payment five times at once",
		Long: `Storm repeats article 003's duplicate storm. Payments are sent several times each,
in shuffled order from many workers at once, through the article's five designs
and the product's two modes, and the charges that should not be are counted.

Then check-then-act and the product get processors that are slower and slower;
and check-then-act gets what tests usually send, which does not show what is
wrong with it.`,
		Example: `  lab storm
  lab storm --keys 200 --workers 20 --trials 5
  lab storm --json | jq '.result.rows[] | {design, duplicates}'`,
		Flags: func(f *pflag.FlagSet) {
			f.IntVar(&s.Keys, "keys", s.Keys, "payments, each with a key of its own")
			f.IntVar(&s.Copies, "copies", s.Copies, "how often each is sent, at least 2")
			f.IntVar(&s.Workers, "workers", s.Workers, "how many send at once, each over a connection of its own")
			f.DurationVar(&s.Delay, "delay", s.Delay, "how long a charge takes")
			f.IntVar(&s.Trials, "trials", s.Trials, "storms through each design, at least 2")
			f.DurationSliceVar(&s.Delays, "delays", s.Delays, "charges that take longer and longer")
			f.IntVar(&s.DelayKeys, "delay-keys", s.DelayKeys, "payments at each of --delays")
		},
		Redis: true,
	}
}
