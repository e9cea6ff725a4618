package cleanup

import (
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/pgidem/pgidem/gen"
)

//go:embed find_charge.sql
var findChargeSQL string

// operate is an operator who lists the keys of an endpoint whose outcome is unknown, as idem list does, looks each up in the
// processor's books, and settles it where a charge stands there, or releases it where none does. It returns how many were listed.
func (b *bench) operate(ctx context.Context, endpoint string) (listed int, err error) {
	keys, err := gen.New().OperatorUnresolved(ctx, b.pool, gen.OperatorUnresolvedParams{
		Endpoint: endpoint, State: "abandoned", Most: 1_000_000,
	})
	if err != nil {
		return 0, fmt.Errorf("list the abandoned keys: %w", err)
	}
	for _, k := range keys {
		if err := b.decide(ctx, k); err != nil {
			return 0, fmt.Errorf("decide over a key: %w", err)
		}
	}
	return len(keys), nil
}

func (b *bench) decide(ctx context.Context, k gen.OperatorUnresolvedRow) error {
	seen, err := gen.New().KeyLookup(ctx, b.pool, gen.KeyLookupParams{TenantID: k.TenantID, Endpoint: k.Endpoint, Key: k.Key})
	if err != nil {
		return err
	}
	var charge int64
	var changed int64
	switch err := b.pool.QueryRow(ctx, findChargeSQL, k.Key).Scan(&charge); {
	case errors.Is(err, pgx.ErrNoRows):
		changed, err = gen.New().OperatorRelease(ctx, b.pool, gen.OperatorReleaseParams{
			TenantID: k.TenantID, Endpoint: k.Endpoint, Key: k.Key, SeenFence: seen.Fence, SeenClaimID: seen.ClaimID,
			Who: operator, Reason: "no charge stands at the processor",
		})
		if err != nil {
			return err
		}
	case err != nil:
		return err
	default:
		claim := pgtype.UUID{Valid: true}
		_, _ = rand.Read(claim.Bytes[:]) // never fails
		changed, err = gen.New().OperatorSettle(ctx, b.pool, gen.OperatorSettleParams{
			Retention: 24 * time.Hour, ClaimID: claim, ResponseStatus: 201, Status: "committed", ResponseHeader: []byte{},
			TenantID: k.TenantID, Endpoint: k.Endpoint, Key: k.Key, SeenFence: seen.Fence, SeenClaimID: seen.ClaimID,
			Who: operator, Reason: fmt.Sprintf("charge %d stands at the processor", charge),
		})
		if err != nil {
			return err
		}
	}
	if changed != 1 {
		return errors.New("it has moved on since it was seen")
	}
	return nil
}

// operator is who the audit names.
const operator = "the operator"
