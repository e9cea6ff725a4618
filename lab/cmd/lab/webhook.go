package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pgidem/pgidem/lab/experiment/webhook"
)

func webhookCommand() *command {
	w := webhook.New()
	return &command{
		Experiment: w,
		Name:       "webhook",
		Short:      "Deliver a provider's events twice, and kill who has them in hand",
		Long: `Webhook repeats what article 000 says of inbound webhooks. A pretended payment
provider tells of each payment by two events and delivers each of them several
times at once; receivers know them again by the payment's id or by the event's,
with a ledger that is a SELECT, a claim, or the product, and with or without a
unique index on the payment. Then two deliveries of an event interleave. Then
processes are killed that have events in hand, which other processes answered with
200 or with 409 meanwhile. It counts what was fulfilled once, again and never.`,
		Example: `  lab webhook
  lab webhook --payments 20 --in-hand 5
  lab webhook --json | jq '.result.deaths[] | {ledger, answer_in_flight, lost_cents}'`,
		Flags: func(f *pflag.FlagSet) {
			f.IntVar(&w.Payments, "payments", w.Payments, "payments, of each part")
			f.IntVar(&w.Copies, "copies", w.Copies, fmt.Sprintf("how often each event is delivered at once, 2 to %d", webhook.MaxCopies))
			f.DurationVar(&w.Work, "work", w.Work, "how long it takes to fulfil an event")
			f.IntVar(&w.InHand, "in-hand", w.InHand,
				fmt.Sprintf("deliveries that a killed process has in hand, 1 to %d", webhook.MaxInHand))
		},
	}
}

// webhookHolderCommand is the process that lab webhook starts and kills.
func webhookHolderCommand() *cobra.Command {
	return &cobra.Command{
		Use:    webhook.HolderCommand,
		Short:  "Take deliveries for lab webhook, and never end one",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return webhook.Holder(cmd.Context(), os.Stdin, os.Stdout)
		},
	}
}
