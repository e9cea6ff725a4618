package main

import (
	"github.com/spf13/pflag"

	"github.com/pgidem/pgidem/lab/experiment/throughput"
)

func throughputCommand() *command {
	t := throughput.New()
	return &command{
		Experiment: t,
		Name:       "throughput",
		Short:      "Time key stores in PostgreSQL and Redis",
		Long: `Throughput repeats article 003's comparison of PostgreSQL and Redis: unique keys,
many workers, no delay, equally many connections, the designs by turns. It adds
the product's two modes, and what the article leaves out: callers who all come at
once with one key.`,
		Example: `  lab throughput
  lab throughput --keys 1000 --connections 64
  lab throughput --json | jq '.result.rows[] | {design, requests_per_second, times_redis}'`,
		Flags: func(f *pflag.FlagSet) {
			f.IntVar(&t.Keys, "keys", t.Keys, "payments, each sent once")
			f.IntVar(&t.Workers, "workers", t.Workers, "how many send at once")
			f.IntVar(&t.Connections, "connections", t.Connections, "to PostgreSQL, and as many to Redis")
			f.IntVar(&t.Trials, "trials", t.Trials, "runs of each design")
			f.IntVar(&t.Waves, "waves", t.Waves, "waves of --workers callers with one key, and as many with their own")
			f.DurationVar(&t.Delay, "delay", t.Delay, "how long a charge takes where a caller waits behind such a crowd")
		},
		Redis: true,
	}
}
