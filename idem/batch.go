package idem

import (
	"context"
	"errors"

	"github.com/pgidem/pgidem/gen"
	"github.com/pgidem/pgidem/idem/internal/engine"
)

// Batch is the work of DoBatch: SQL statements, in order, that make the effect and its answer.
type Batch struct{ queued []engine.Queued }

// Queue adds one statement and its arguments, which may begin with a pgx.QueryRewriter such as pgx.NamedArgs. What it returns is
// read by nobody: the answer is what a statement gives to idem.answer.
func (b *Batch) Queue(sql string, arguments ...any) {
	b.queued = append(b.queued, engine.Queued{SQL: sql, Arguments: arguments})
}

// DoBatch is Do in one round trip, for work that is SQL statements whose result is the answer: claim, statements and COMMIT are
// sent together. One of the statements calls idem.answer(status, body) or idem.answer(status, body, header), once:
//
//	WITH charge AS (INSERT INTO charges (cents) VALUES ($1) RETURNING id)
//	SELECT idem.answer(201, convert_to(json_build_object('id', id)::text, 'UTF8')) FROM charge
//
// body and header are bytea, which convert_to makes of text; NULL is refused, also for an empty body. header is lines as on the wire,
// "Name: value" ended by CR LF. The body is kept whole, whatever Policy.MaxBody says. If nothing calls idem.answer, for instance
// because it stands over no rows, everything is rolled back and the error is ErrNoAnswer. There is no Failed answer: it would have
// to undo the rows of the statements before it.
//
// fn only queues, and is not told whether its statements run. Their errors come back unchanged, everything else as *KeyError. For a
// key that is not new the statements are on their way all the same, and an SQL error (IDM02) keeps them from running: each such
// call leaves a line in the server's log.
//
// COMMIT is on its way with the rest, so the call cannot be cut off: when ctx ends it waits 5 s more, and without that for at most
// Policy.Wait, Policy.Lease and 5 s; then it reads back. ErrCommitUnknown may mean here that nothing ran, or not yet. Bound the
// statements by a statement_timeout of the session.
func (s *Store) DoBatch(ctx context.Context, key Key, fn func(b *Batch)) (*Response, error) {
	return s.atomic(ctx, "dobatch", key, func(o *operation) (engine.Row, engine.Verdict, error) {
		var b Batch
		fn(&b)
		row, v, err := o.shared.engine.DoBatch(ctx, o.row, o.budget(), b.queued)
		var theirs *engine.WorkError
		if errors.As(err, &theirs) {
			err = &workError{theirs.Err}
		}
		return row, v, err
	})
}

// Gate lets the statements behind it run only where the claim before it was granted.
func (r *keyRow) Gate(t *engine.Trip) {
	arg := gen.BatchClaimedParams{
		TenantID: r.key.Tenant, Endpoint: r.key.Endpoint, Key: r.key.ID, ClaimID: r.claimID, Retention: r.policy.Retention,
	}
	t.Add(func(ctx context.Context, db gen.DBTX) error { return q.BatchClaimed(ctx, db, arg) })
}

// Answered reads what idem.answer recorded, and gives the COMMIT behind it a statement_timeout.
func (r *keyRow) Answered(t *engine.Trip, timeout string) {
	arg := gen.BatchAnsweredParams{
		TenantID: r.key.Tenant, Endpoint: r.key.Endpoint, Key: r.key.ID, ClaimID: r.claimID, StatementTimeout: timeout,
	}
	t.Add(func(ctx context.Context, db gen.DBTX) error {
		answer, err := q.BatchAnswered(ctx, db, arg)
		if err == nil {
			r.loaded = &gen.KeyLoadRow{
				Status: statusCommitted, ClaimID: r.claimID, CompletedAt: &answer.CompletedAt,
				ResponseStatus: answer.ResponseStatus, ResponseHeader: answer.ResponseHeader, ResponseBody: answer.ResponseBody,
			}
		}
		return err
	})
}
