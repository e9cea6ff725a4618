package crash

import (
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/pgidem/pgidem/gen"
)

//go:embed find.sql
var findSQL string

// unresolved are the product's keys that are abandoned, as an operator has them listed.
func (r *run) unresolved(ctx context.Context) ([]gen.OperatorUnresolvedRow, error) {
	return gen.New().OperatorUnresolved(ctx, r.pool, gen.OperatorUnresolvedParams{State: "abandoned", Most: int32(r.Keys)})
}

// settle is an operator who looks each key up in the processor's books, and finishes it with what stands there.
func (r *run) settle(ctx context.Context, keys []gen.OperatorUnresolvedRow) error {
	for _, k := range keys {
		if err := r.settleOne(ctx, k); err != nil {
			return fmt.Errorf("settle a key: %w", err)
		}
	}
	return nil
}

func (r *run) settleOne(ctx context.Context, k gen.OperatorUnresolvedRow) error {
	q := gen.New()
	seen, err := q.KeyLookup(ctx, r.pool, gen.KeyLookupParams{TenantID: k.TenantID, Endpoint: k.Endpoint, Key: k.Key})
	if err != nil {
		return err
	}
	rows, err := r.pool.Query(ctx, findSQL, k.Key)
	if err != nil {
		return err
	}
	charges, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	switch {
	case err != nil:
		return err
	case len(charges) != 1:
		return fmt.Errorf("the processor has charged it %d times", len(charges))
	}
	claim := pgtype.UUID{Valid: true}
	_, _ = rand.Read(claim.Bytes[:]) // never fails
	settled, err := q.OperatorSettle(ctx, r.pool, gen.OperatorSettleParams{
		Retention: 24 * time.Hour, ClaimID: claim, ResponseStatus: 201, Status: "committed", ResponseHeader: []byte{},
		ResponseBody: strconv.AppendInt(nil, charges[0], 10),
		TenantID:     k.TenantID, Endpoint: k.Endpoint, Key: k.Key, SeenFence: seen.Fence, SeenClaimID: seen.ClaimID,
		Who: "the operator", Reason: fmt.Sprintf("charge %d stands at the processor", charges[0]),
	})
	if err == nil && settled != 1 {
		err = errors.New("it has moved on since it was seen")
	}
	return err
}
