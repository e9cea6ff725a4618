package design

import (
	"context"
	_ "embed"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

var (
	//go:embed claims.sql
	claimsSQL string
	//go:embed claims_reset.sql
	claimsResetSQL string
	//go:embed claims_insert.sql
	claimsInsertSQL string
	//go:embed claims_take_over.sql
	claimsTakeOverSQL string
	//go:embed claims_finish.sql
	claimsFinishSQL string
	//go:embed claims_look.sql
	claimsLookSQL string
)

// ResetClaims makes an empty lab.claims, which Claim and Transaction need, in a database that has been through Install.
func ResetClaims(ctx context.Context, pool *pgxpool.Pool) error {
	if _, err := pool.Exec(ctx, claimsSQL); err != nil {
		return err
	}
	_, err := pool.Exec(ctx, claimsResetSQL)
	return err
}

// claims is lab.claims as a pool or a transaction sees it.
type claims struct {
	db interface {
		querier
		Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	}
}

// insert reports whether the key is the caller's, because it is new.
func (c claims) insert(ctx context.Context, key string) (mine bool, err error) {
	return c.gets(ctx, claimsInsertSQL, key)
}

// takeOver reports whether the key is the caller's, because it has been pending for so long.
func (c claims) takeOver(ctx context.Context, key string, stale time.Duration) (mine bool, err error) {
	return c.gets(ctx, claimsTakeOverSQL, key, stale)
}

func (c claims) gets(ctx context.Context, sql string, args ...any) (bool, error) {
	var key string
	err := c.db.QueryRow(ctx, sql, args...).Scan(&key)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

func (c claims) finish(ctx context.Context, key string, charge int64) error {
	_, err := c.db.Exec(ctx, claimsFinishSQL, key, charge)
	return err
}

// look is what a caller is told whose key is another's.
func (c claims) look(ctx context.Context, key string) (Outcome, error) {
	var done bool
	var charge int64
	if err := c.db.QueryRow(ctx, claimsLookSQL, key).Scan(&done, &charge); err != nil {
		return Outcome{}, err
	}
	if !done {
		return Outcome{Kind: InFlight}, nil
	}
	return Outcome{Replayed, charge}, nil
}
