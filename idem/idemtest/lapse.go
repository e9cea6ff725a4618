package idemtest

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/pgidem/pgidem/gen"
	"github.com/pgidem/pgidem/idem"
)

// Lapse ends the lease of a key now, as if its holder had been silent for a whole lease: what Policy.Stale says comes next.
//
// A holder that is alive keeps its fence, and its next heartbeat, at most a third of the lease away, takes the lease up again
// unless somebody has taken the key over by then. Requests to the Store of such a holder wait for it in memory; send them to a
// second Store, as to another process. key.Fingerprint is not looked at; under ScopeTenant key.Endpoint is "*".
//
// An error that is idem.ErrNotFound: there is no such key, or none to be seen (in atomic mode it is seen once it is finished).
// Any other key that is not held is an error that says what it is instead.
func Lapse(ctx context.Context, db gen.DBTX, key idem.Key) error {
	if err := lapse(ctx, db, key); err != nil {
		return fmt.Errorf("idemtest: lapse %s of tenant %s: %w", key.Endpoint, key.Tenant, err)
	}
	return nil
}

func lapse(ctx context.Context, db gen.DBTX, key idem.Key) error {
	q := gen.New()
	found, err := q.KeyLookup(ctx, db, gen.KeyLookupParams{TenantID: key.Tenant, Endpoint: key.Endpoint, Key: key.ID})
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return idem.ErrNotFound
	case err != nil:
		return err
	case found.State != string(idem.StateHeld):
		return fmt.Errorf("the key is %s, not held", found.State)
	}
	ended, err := q.LeaseAbandon(ctx, db, gen.LeaseAbandonParams{
		TenantID: key.Tenant, Endpoint: key.Endpoint, Key: key.ID, Fence: found.Fence, ClaimID: found.ClaimID,
	})
	if err == nil && ended == 0 {
		err = errors.New("the key was finished, given back or taken over at this very moment")
	}
	return err
}
