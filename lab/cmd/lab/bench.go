package main

import (
	"github.com/spf13/pflag"

	"github.com/pgidem/pgidem/lab/experiment/bench"
)

func benchCommand() *command {
	x := bench.New()
	return &command{
		Experiment: x,
		Name:       "bench",
		Short:      "Time and count what a key costs, beside Redis, by hand, and in existing systems",
		Long: `Bench sends the same work through many arms by turns: the bare insert, Redis, the
same by hand, the product in all its modes, River and DBOS; then replays of
finished keys, and hot keys. It times single calls while the servers are farther
and farther away. Last it counts, on servers of their own, the round trips,
messages, commits, transaction ids, bytes of WAL, HOT updates and allocations of
an operation. Each target that the project has set itself is a finding; a speed
that is not reached fails nothing.`,
		Example: `  lab bench
  lab bench --only hold,redis,claim --trials 15 --calls 0 --counted 0
  lab bench --only hold --trials 20 --cpuprofile hold.pprof --calls 0 --counted 0
  lab bench --json | jq '.result.ratios[] | {claim, times}'`,
		Flags: func(f *pflag.FlagSet) {
			f.IntVar(&x.Operations, "operations", x.Operations, "calls of an arm in a trial")
			f.IntVar(&x.Workers, "workers", x.Workers, "how many call at once")
			f.IntVar(&x.Connections, "connections", x.Connections, "to PostgreSQL, and as many to Redis")
			f.IntVar(&x.Trials, "trials", x.Trials, "runs of each arm")
			f.StringSliceVar(&x.Only, "only", nil, "run these arms alone, separated by commas")
			f.DurationSliceVar(&x.Delays, "delays", x.Delays, "added to every round trip of single calls")
			f.IntVar(&x.Calls, "calls", x.Calls, "single calls of an arm under each delay; 0: none")
			f.IntVar(&x.Counted, "counted", x.Counted, "operations of an arm that are counted instead of timed; 0: nothing is counted")
			f.IntVar(&x.Replays, "replays", x.Replays, "of finished keys, counted")
			f.StringVar(&x.CPUProfile, "cpuprofile", "", "file for a CPU profile of this process while arms are timed")
		},
		Redis: true,
		Apart: true,
	}
}
