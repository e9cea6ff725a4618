package main

import (
	"github.com/spf13/pflag"

	"github.com/pgidem/pgidem/lab/experiment/dirtypool"
)

func dirtyPoolCommand() *command {
	d := dirtypool.New()
	return &command{
		Experiment: d,
		Name:       "dirty-pool",
		Short:      "Begin a transaction on the pool instead of on a connection",
		Long: `Dirty-pool repeats article 000's bug that survives all else. Of two handlers that
share a pool of one or of four connections, A sends BEGIN, INSERT and ROLLBACK
through the pool, and B inserts a row that has nothing to do with them; then A
locks a row with SELECT ... FOR UPDATE, and others try to get it. It plays each
order on the pools that Go programs use, once more on a connection that is checked
out, and in Store.Do, and shows whose rows survive and which connection each
statement met.`,
		Example: `  lab dirty-pool
  lab dirty-pool --rounds 1
  lab dirty-pool --json | jq '.result.writes[] | {handler, pool, connections, survivors}'`,
		Flags: func(f *pflag.FlagSet) {
			f.IntVar(&d.Rounds, "rounds", d.Rounds, "how often each order is played, each time on a new pool")
		},
	}
}
