package model

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/pgidem/pgidem/gen"
	"github.com/pgidem/pgidem/idem"
)

// broken is the protocol with one rule less. Its Hold is made of Claim and has no heartbeat, so that the lease of both is broken. The
// functions that are nil are sound.
type broken struct {
	sound
	do      func(ctx context.Context, s *idem.Store, key idem.Key, fn idem.TxWork) (*idem.Response, error)
	claims  func(ctx context.Context, s *idem.Store, key idem.Key) error // before the claim
	replays func(ctx context.Context, s *idem.Store, key idem.Key, resp *idem.Response) (*idem.Response, error)
	ends    func(l heldLease) lease
}

// heldLease is a lease and what a statement of one's own needs.
type heldLease struct {
	*idem.Lease
	store *idem.Store
}

// exec runs a statement on the lease's key. Its parameters are tenant, endpoint, key and those given. ErrLeaseLost: no row fitted.
func (l heldLease) exec(ctx context.Context, sql string, args ...any) error {
	k := l.Key()
	tag, err := l.store.Pool.Exec(ctx, sql, append([]any{k.Tenant, k.Endpoint, k.ID}, args...)...)
	if err == nil && tag.RowsAffected() == 0 {
		err = idem.ErrLeaseLost
	}
	return err
}

func (b broken) Do(ctx context.Context, key idem.Key, fn idem.TxWork) (*idem.Response, error) {
	if b.do != nil {
		return b.do(ctx, b.store, key, fn)
	}
	return b.replayed(ctx, key)(b.sound.Do(ctx, key, fn))
}

func (b broken) Claim(ctx context.Context, key idem.Key) (lease, *idem.Response, error) {
	if b.claims != nil {
		if err := b.claims(ctx, b.store, key); err != nil {
			return nil, nil, err
		}
	}
	l, resp, err := b.store.Claim(ctx, key)
	if l == nil {
		resp, err = b.replayed(ctx, key)(resp, err)
		return nil, resp, err
	}
	held := heldLease{l, b.store}
	if b.ends != nil {
		return b.ends(held), nil, nil
	}
	return held, nil, nil
}

func (b broken) Hold(ctx context.Context, key idem.Key, fn work) (*idem.Response, error) {
	l, resp, err := b.Claim(ctx, key)
	if l == nil {
		return resp, err
	}
	resp, err = fn(ctx, l)
	switch {
	case errors.Is(err, errGivesBack):
		_ = l.Release(ctx)
	case err != nil:
		_ = l.Abandon(ctx)
	default:
		if err = l.Complete(ctx, resp); err != nil {
			return nil, err
		}
	}
	return resp, err
}

func (b broken) replayed(ctx context.Context, key idem.Key) func(*idem.Response, error) (*idem.Response, error) {
	return func(resp *idem.Response, err error) (*idem.Response, error) {
		if err != nil || !resp.Replayed || b.replays == nil {
			return resp, err
		}
		return b.replays(ctx, b.store, key, resp)
	}
}

// completing is a lease whose answer is recorded by a statement of its own.
type completing struct {
	heldLease
	sql   string
	fence bool // the statement names it
}

const completeSQL = `UPDATE idem.keys SET locked_until = NULL, completed_at = statement_timestamp(), response_status = $4, leased = false,
	status = CASE WHEN $4 = 402 THEN 'failed' ELSE 'committed' END, response_header = '', response_body = $5
	WHERE tenant_id = $1 AND endpoint = $2 AND key = $3`

func (l completing) Complete(ctx context.Context, r *idem.Response) error {
	args := []any{r.Status, r.Body}
	if l.fence {
		args = append(args, l.Fence())
	}
	return l.exec(ctx, l.sql, args...)
}

// completesByKey names neither fence nor claim: a holder that lost its key completes it all the same.
func completesByKey(l heldLease) lease {
	return completing{heldLease: l, sql: completeSQL + " AND status = 'in_flight'"}
}

// completesAgain names the fence and does not ask whether the key is finished: a late completion takes the place of the answer.
func completesAgain(l heldLease) lease {
	return completing{heldLease: l, sql: completeSQL + " AND fence = $6", fence: true}
}

// forgiving is a lease that is given back when its work has failed, whatever the work has done.
type forgiving struct{ heldLease }

const releaseSQL = `UPDATE idem.keys SET locked_until = NULL, status = 'released', leased = false
	WHERE tenant_id = $1 AND endpoint = $2 AND key = $3 AND fence = $4 AND status = 'in_flight'`

func (l forgiving) Abandon(ctx context.Context) error { return l.exec(ctx, releaseSQL, l.Fence()) }

// takesOverAtOnce does not wait for the end of a lease.
func takesOverAtOnce(ctx context.Context, s *idem.Store, key idem.Key) error {
	_, err := s.Pool.Exec(ctx, ageSQL, key.Tenant, key.Endpoint, key.ID, 2*long)
	return err
}

// replaysNewest finds the answer by the tenant alone.
func replaysNewest(ctx context.Context, s *idem.Store, key idem.Key, resp *idem.Response) (*idem.Response, error) {
	err := s.Pool.QueryRow(ctx, `SELECT response_body FROM idem.keys WHERE tenant_id = $1 AND completed_at IS NOT NULL
		ORDER BY completed_at DESC LIMIT 1`, key.Tenant).Scan(&resp.Body)
	return resp, err
}

const upsertSQL = `INSERT INTO idem.keys (fence, claimed_at, created_at, completed_at, expires_at, claim_id, attempts, response_status, leased,
		tenant_id, endpoint, key, status, fingerprint, response_header, response_body)
	SELECT extract(epoch FROM t) * 1000000, t, t, t, t + interval '1 hour', gen_random_uuid(), 1, $4, false,
		$1, $2, $3, CASE WHEN $4 = 402 THEN 'failed' ELSE 'committed' END, $5, '', $6
	FROM (SELECT statement_timestamp() AS t) AS present
	ON CONFLICT (tenant_id, endpoint, key) DO UPDATE
	SET fence = excluded.fence, completed_at = excluded.completed_at, expires_at = excluded.expires_at, attempts = 1,
		response_status = excluded.response_status, status = excluded.status, fingerprint = excluded.fingerprint,
		response_body = excluded.response_body`

// looksThenActs is Do as it is written first: is there an answer? No: do it, and write the answer down.
func looksThenActs(ctx context.Context, s *idem.Store, key idem.Key, fn idem.TxWork) (*idem.Response, error) {
	found, err := gen.New().KeyLoad(ctx, s.Pool, gen.KeyLoadParams{TenantID: key.Tenant, Endpoint: key.Endpoint, Key: key.ID})
	switch {
	case errors.Is(err, pgx.ErrNoRows), err == nil && found.ExpiresIn <= 0:
	case err != nil:
		return nil, err
	case string(found.Fingerprint) != string(key.Fingerprint):
		return nil, idem.ErrMismatch
	default:
		return &idem.Response{Body: found.ResponseBody, Replayed: true}, nil
	}
	tx, err := s.Pool.Begin(ctx)
	if err != nil {
		return nil, err
	}
	defer tx.Rollback(ctx)
	inner, err := tx.Begin(ctx) // a refusal has no rows
	if err != nil {
		return nil, err
	}
	resp, err := fn(ctx, inner)
	if err != nil {
		return nil, err
	}
	end := inner.Commit
	if resp.Failed {
		end = inner.Rollback
	}
	if err := end(ctx); err != nil {
		return nil, err
	}
	if _, err := tx.Exec(ctx, upsertSQL, key.Tenant, key.Endpoint, key.ID, resp.Status, []byte(key.Fingerprint), resp.Body); err != nil {
		return nil, err
	}
	return resp, tx.Commit(ctx)
}
