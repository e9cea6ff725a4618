package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pgidem/pgidem/lab/experiment/crash"
)

func crashCommand() *command {
	c := crash.New()
	return &command{
		Experiment: c,
		Name:       "crash",
		Short:      "Kill workers between a charge and its completion mark",
		Long: `Crash repeats article 003's crash test on real processes. Workers charge payments
at a card processor, and some of them die by SIGKILL when the money is taken and
nothing says so yet; new workers go on, and clients come again until they are
answered. It runs the article's six designs, then the product's modes and
policies, counts the charges, prints them, and says what they mean.

A design that is safe must charge each payment once and leave none without its
answer; one that is not must charge twice at each crash, else it has shown
nothing.`,
		Example: `  lab crash
  lab crash --keys 100 --kills 10
  lab crash --json | jq '.result.rows[] | {design, duplicates}'`,
		Flags: func(f *pflag.FlagSet) {
			f.IntVar(&c.Keys, "keys", c.Keys, "payments, each with a key of its own")
			f.IntVar(&c.Kills, "kills", c.Kills, "of them, those whose worker is killed")
			f.IntVar(&c.Workers, "workers", c.Workers, fmt.Sprintf("how many are at work at once, 1 to %d", crash.MaxWorkers))
		},
		Redis: true,
	}
}

// crashWorkerCommand is the process that lab crash starts and kills.
func crashWorkerCommand() *cobra.Command {
	return &cobra.Command{
		Use:    crash.WorkerCommand,
		Short:  "Handle payments for lab crash",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return crash.Worker(cmd.Context(), os.Stdin, os.Stdout)
		},
	}
}
