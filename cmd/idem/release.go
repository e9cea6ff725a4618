package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pgidem/pgidem/gen"
)

func newRelease(db *source) *cobra.Command {
	o := operation{db: db}
	cmd := &cobra.Command{
		Use:   "release --tenant TENANT --endpoint ENDPOINT --reason REASON KEY",
		Short: "Give an abandoned key back: nothing happened",
		Long: `release gives back an abandoned key whose effect has not happened and cannot
happen any more: ask the downstream first, and make sure that the old holder is
gone. The next retry runs the work. Recorded steps stay and are not run again.

It refuses where a lease runs, and where the key has moved on since it was seen.
A row in idem.audit says who did it and why.`,
		Example: `  idem release --tenant acme --endpoint 'POST /charges' --reason 'no such charge at the processor' k-1`,
		Args:    arguments("KEY"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(cmd, args); err != nil {
				return err
			}
			return o.run(cmd.Context(), "Give back", "released", releasable, o.release)
		},
	}
	o.flags(cmd)
	return cmd
}

func releasable(seen gen.KeyLookupRow) error {
	if seen.State == "abandoned" {
		return nil
	}
	if err := notHeld(seen); err != nil {
		return err
	}
	return fmt.Errorf("the key is %s, and only an abandoned key can be given back: nothing was changed", seen.State)
}

func (o *operation) release(ctx context.Context, db gen.DBTX, seen gen.KeyLookupRow) (int64, error) {
	return gen.New().OperatorRelease(ctx, db, gen.OperatorReleaseParams{
		TenantID: o.tenant, Endpoint: o.endpoint, Key: o.key, SeenFence: seen.Fence, SeenClaimID: seen.ClaimID,
		Who: o.who, Reason: o.reason,
	})
}
