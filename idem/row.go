package idem

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/pgidem/pgidem/gen"
	"github.com/pgidem/pgidem/idem/internal/engine"
)

var q = gen.New()

// keyRow is one row of idem.keys as one call sees it: the statements, what they found, and the decision table.
type keyRow struct {
	key     Key // as stored: scoped
	policy  Policy
	leased  bool // lease mode
	claimID pgtype.UUID
	answer  *Response // what Complete records

	claimed *claimedRow
	loaded  *gen.KeyLoadRow
	absent  bool // the probe's insert won, so no row stands; what was loaded is the probe's own
	// inherited: taken from a holder that was given up, so that an effect of its own may stand.
	inherited bool
	// retryAfter and version go into the KeyError of a Refused verdict.
	retryAfter time.Duration
	version    byte
}

// claimedRow is what every statement that takes a key returns.
type claimedRow struct {
	Fence       int64
	Attempts    int32
	Fingerprint []byte // as stored: that of the first caller of this life
}

func newKeyRow(key Key, policy Policy, leased bool) *keyRow {
	row := &keyRow{key: key.scoped(policy.Scope), policy: policy, leased: leased}
	_, _ = rand.Read(row.claimID.Bytes[:]) // never fails
	row.claimID.Valid = true
	return row
}

func (r *keyRow) Fresh() engine.Row {
	return &keyRow{key: r.key, policy: r.policy, leased: r.leased, claimID: r.claimID, answer: r.answer}
}

func (r *keyRow) Claim(t *engine.Trip) {
	r.claimed, r.inherited = nil, false // of the look before this one: its takeover came too late, or was rolled back
	arg := gen.KeyClaimParams{
		Lease:       r.policy.Lease,
		Retention:   r.policy.Retention,
		ClaimID:     r.claimID,
		Leased:      r.leased,
		TenantID:    r.key.Tenant,
		Endpoint:    r.key.Endpoint,
		Key:         r.key.ID,
		Fingerprint: []byte(r.key.Fingerprint),
		Handler:     textOrNull(r.policy.Handler),
		Request:     bytesOrNull(r.key.Request),
	}
	t.Add(taken(r, func(ctx context.Context, db gen.DBTX) (gen.KeyClaimRow, error) { return q.KeyClaim(ctx, db, arg) }))
	r.Load(t)
}

func (r *keyRow) Load(t *engine.Trip) {
	arg := gen.KeyLoadParams{TenantID: r.key.Tenant, Endpoint: r.key.Endpoint, Key: r.key.ID}
	t.Add(func(ctx context.Context, db gen.DBTX) error {
		found, err := q.KeyLoad(ctx, db, arg)
		r.loaded = nil
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err == nil {
			r.loaded = &found
		}
		return err
	})
}

// Reclaim takes what was loaded, by the statement that fits its state.
func (r *keyRow) Reclaim(t *engine.Trip) {
	seen := r.loaded
	switch {
	case seen.Status == statusReleased && seen.Leased:
		arg := gen.KeyResumeParams{
			Lease: r.policy.Lease, ClaimID: r.claimID, Leased: r.leased,
			TenantID: r.key.Tenant, Endpoint: r.key.Endpoint, Key: r.key.ID,
			SeenFence: seen.Fence, SeenClaimID: seen.ClaimID,
		}
		t.Add(taken(r, func(ctx context.Context, db gen.DBTX) (gen.KeyResumeRow, error) { return q.KeyResume(ctx, db, arg) }))
	case seen.Status == statusInFlight:
		arg := gen.KeyTakeOverParams{
			Lease: r.policy.Lease, ClaimID: r.claimID, Settle: r.policy.settle(),
			TenantID: r.key.Tenant, Endpoint: r.key.Endpoint, Key: r.key.ID,
			SeenFence: seen.Fence, SeenClaimID: seen.ClaimID,
		}
		r.inherited = true
		if r.asks() {
			t.Add(taken(r, func(ctx context.Context, db gen.DBTX) (gen.KeyResolveRow, error) {
				return q.KeyResolve(ctx, db, gen.KeyResolveParams(arg))
			}))
			return
		}
		t.Add(taken(r, func(ctx context.Context, db gen.DBTX) (gen.KeyTakeOverRow, error) { return q.KeyTakeOver(ctx, db, arg) }))
	default:
		arg := gen.KeyRenewParams{
			Lease: r.policy.Lease, Retention: r.policy.Retention, ClaimID: r.claimID, Leased: r.leased,
			Fingerprint: []byte(r.key.Fingerprint), Handler: textOrNull(r.policy.Handler), Request: bytesOrNull(r.key.Request),
			TenantID: r.key.Tenant, Endpoint: r.key.Endpoint, Key: r.key.ID,
			SeenFence: seen.Fence, SeenClaimID: seen.ClaimID,
		}
		t.Add(taken(r, func(ctx context.Context, db gen.DBTX) (gen.KeyRenewRow, error) { return q.KeyRenew(ctx, db, arg) }))
		forget := gen.StepForgetParams{TenantID: r.key.Tenant, Endpoint: r.key.Endpoint, Key: r.key.ID, ClaimID: r.claimID}
		t.Add(func(ctx context.Context, db gen.DBTX) error {
			_, err := q.StepForget(ctx, db, forget)
			return err
		})
	}
}

// asks reports whether an abandoned key is taken to ask about it, and not yet to run.
func (r *keyRow) asks() bool { return r.policy.Stale == StaleResolve && r.policy.Resolve != nil }

// Complete records the answer in the transaction that holds the effect.
func (r *keyRow) Complete(t *engine.Trip) {
	status, arg := r.completion()
	t.Add(func(ctx context.Context, db gen.DBTX) error {
		at, err := q.KeyCompleteTx(ctx, db, gen.KeyCompleteTxParams(arg))
		if err == nil {
			r.loaded = &gen.KeyLoadRow{Status: status, ClaimID: r.claimID, CompletedAt: &at}
		}
		return err
	})
}

func (r *keyRow) Probe(t *engine.Trip) {
	arg := gen.KeyProbeParams{ClaimID: r.claimID, TenantID: r.key.Tenant, Endpoint: r.key.Endpoint, Key: r.key.ID}
	t.Add(func(ctx context.Context, db gen.DBTX) error {
		_, err := q.KeyProbe(ctx, db, arg)
		r.absent = err == nil
		return ignoreNoRows(err)
	})
	r.Load(t)
}

func (r *keyRow) MarkUnknown(t *engine.Trip) {
	arg := gen.KeyMarkUnknownParams{TenantID: r.key.Tenant, Endpoint: r.key.Endpoint, Key: r.key.ID, ClaimID: r.claimID}
	t.Add(func(ctx context.Context, db gen.DBTX) error {
		_, err := q.KeyMarkUnknown(ctx, db, arg)
		return err
	})
}

// taken makes a trip's statement of one that takes the key or returns no row.
func taken[R gen.KeyClaimRow | gen.KeyRenewRow | gen.KeyResumeRow | gen.KeyTakeOverRow | gen.KeyResolveRow](
	r *keyRow, take func(context.Context, gen.DBTX) (R, error),
) engine.Statement {
	return func(ctx context.Context, db gen.DBTX) error {
		row, err := take(ctx, db)
		if err == nil {
			c := claimedRow(row)
			r.claimed = &c
			return nil
		}
		r.loaded = nil // what was loaded before no longer stands
		return ignoreNoRows(err)
	}
}

func ignoreNoRows(err error) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	return err
}

func textOrNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func bytesOrNull(s string) []byte {
	if s == "" {
		return nil
	}
	return []byte(s)
}
