package main

import (
	"github.com/spf13/pflag"

	"github.com/pgidem/pgidem/lab/experiment/mismatch"
)

func mismatchCommand() *command {
	m := mismatch.New()
	return &command{
		Experiment: m,
		Name:       "mismatch",
		Short:      "Send another request under a key that was used",
		Long: `Mismatch repeats article 000's experiment about one key under two requests: $9,000
after $49 and the reverse, a refund after a charge, and the same request with its
JSON in another order, to handlers with and without a fingerprint and to the
product. It says whose receipt the second request got, and what was charged. Then
it compares the answers that several callers get to one charge, whose id turns
from a number to a string, or loses a digit, where the replay is not the answer
that was sent.`,
		Example: `  lab mismatch
  lab mismatch --json | jq '.result.exchanges[] | {scene, design, status, named_cents}'`,
		Flags: func(f *pflag.FlagSet) {
			f.IntVar(&m.Callers, "callers", m.Callers, "how many ask for the same charge, at least 2")
		},
	}
}
