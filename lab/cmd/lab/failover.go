package main

import (
	"fmt"

	"github.com/spf13/pflag"

	"github.com/pgidem/pgidem/lab/experiment/failover"
)

func failoverCommand() *command {
	r := failover.New()
	return &command{
		Experiment: r,
		Name:       "failover",
		Short:      "Lose the server that holds the claims, and promote its replica",
		Long: `Failover runs what article 003 left out: the claims' server is killed while its
replica lags, and the replica is promoted. PostgreSQL has an asynchronous standby,
then a synchronous one, each made by pg_basebackup; Redis has a replica. The link
to the replica is parted first, so that what comes after that is lost for certain,
or waits for certain. Then every customer comes again. It counts claims that were
confirmed and lost, customers who were answered in vain, and payments that were
charged twice, with and without a processor that refuses a repeated key.`,
		Example: `  lab failover
  lab failover --settled 20 --late 20
  lab failover --json | jq '.result.failovers[] | .system as $s | .rows[] | {$s, design, lost: .late.lost}'`,
		Redis: true,
		Flags: func(f *pflag.FlagSet) {
			f.IntVar(&r.Settled, "settled", r.Settled, "payments of each design that are answered and copied to the replica")
			f.IntVar(&r.InHand, "in-hand", r.InHand, "payments of each that are at the processor when the link is parted")
			f.IntVar(&r.Late, "late", r.Late,
				fmt.Sprintf("payments of each that come after that; with those in hand at most %d", failover.MaxAtOnce))
		},
	}
}
