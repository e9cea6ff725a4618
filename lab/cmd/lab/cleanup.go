package main

import (
	"github.com/spf13/pflag"

	"github.com/pgidem/pgidem/lab/experiment/cleanup"
)

func cleanupCommand() *command {
	c := cleanup.New()
	return &command{
		Experiment: c,
		Name:       "cleanup",
		Short:      "Let purchases fail, and see which keys stay dead",
		Long: `Cleanup repeats what article 000 says of error paths. The first request of every
key fails, and clients come again, at once, a lease later, a year later (the time
is moved in the database) and after an operator has looked. It shows why an UPDATE
in the transaction that has just failed does nothing, for three reasons, what the
article advises instead, where that advice charges twice, and what the product's
two modes do. Then it deletes a claim between a handler's INSERT and its SELECT,
once, twice and three times, by its owner and by a sweep.`,
		Example: `  lab cleanup
  lab cleanup --keys 5
  lab cleanup --json | jq '.result.designs[] | {design, fault, dead, charged_twice}'`,
		Flags: func(f *pflag.FlagSet) {
			f.IntVar(&c.Keys, "keys", c.Keys, "keys of each design, whose first request fails")
		},
	}
}
