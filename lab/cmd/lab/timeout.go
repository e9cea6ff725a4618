package main

import (
	"fmt"

	"github.com/spf13/pflag"

	"github.com/pgidem/pgidem/lab/experiment/timeout"
)

func timeoutCommand() *command {
	t := timeout.New()
	return &command{
		Experiment: t,
		Name:       "timeout",
		Short:      "Let clients give up before the processor answers, and see what retries meet",
		Long: `Timeout repeats what article 004 says of slow processors and of what keys cost.
Customers whose client waits 10 seconds pay at a processor that takes 11: with
check-then-act, with an SDK that makes a new key for each try, and with one key
and the product. Duplicates of a slow payment wait at a server with few workers,
or are answered 409. Phones come back after a day offline, to servers that keep
keys for 24 hours and for 72, with payments and with carts that were cancelled
since. The processor declines cards and is not available. It counts what was
charged twice, held, replayed and lost.`,
		Example: `  lab timeout
  lab timeout --customers 5 --payments 10
  lab timeout --json | jq '.result.waits[] | {design, duplicates_wait, workers_held}'`,
		Flags: func(f *pflag.FlagSet) {
			f.IntVar(&t.Customers, "customers", t.Customers,
				fmt.Sprintf("of the night with a slow processor, 1 to %d", timeout.MaxCustomers))
			f.DurationVar(&t.Second, "second", t.Second, "how long a second of the article takes")
			f.IntVar(&t.Workers, "workers", t.Workers, fmt.Sprintf("of the server at which duplicates wait, 2 to %d", timeout.MaxWorkers))
			f.IntVar(&t.Strangers, "strangers", t.Strangers, "other customers, who come to that server")
			f.IntVar(&t.Payments, "payments", t.Payments, "payments that are sent again late, and that fail")
		},
	}
}
