package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/pgidem/pgidem/gen"
)

func newForget(db *source) *cobra.Command {
	o := operation{db: db}
	cmd := &cobra.Command{
		Use:   "forget --tenant TENANT --endpoint ENDPOINT --reason REASON KEY",
		Short: "Delete a key and its steps",
		Long: `forget deletes a key with its answer and its steps, whatever its state. The next
request under it is a new one and runs: a retry of a finished payment would
charge again. It is for data that must go, not for keys that are stuck; those are
settled or released.

It refuses where a lease runs, and where the key has moved on since it was seen.
A row in idem.audit says who did it and why.`,
		Example: `  idem forget --tenant acme --endpoint 'POST /charges' --reason 'erasure request 4711' k-1`,
		Args:    arguments("KEY"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(cmd, args); err != nil {
				return err
			}
			return o.run(cmd.Context(), "Delete", "forgot", notHeld, o.forget)
		},
	}
	o.flags(cmd)
	return cmd
}

func (o *operation) forget(ctx context.Context, db gen.DBTX, seen gen.KeyLookupRow) (int64, error) {
	return gen.New().OperatorForget(ctx, db, gen.OperatorForgetParams{
		TenantID: o.tenant, Endpoint: o.endpoint, Key: o.key, SeenFence: seen.Fence, SeenClaimID: seen.ClaimID,
		Who: o.who, Reason: o.reason,
	})
}
