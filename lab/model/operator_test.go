package model

import (
	"crypto/rand"
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/pgidem/pgidem/gen"
	"github.com/pgidem/pgidem/idem"
)

const (
	ageSQL = `UPDATE idem.keys SET locked_until = statement_timestamp() - $4::interval
		WHERE tenant_id = $1 AND endpoint = $2 AND key = $3 AND status = 'in_flight' AND leased`
	expireSQL = `UPDATE idem.keys SET expires_at = statement_timestamp()
		WHERE tenant_id = $1 AND endpoint = $2 AND key = $3 AND (status IN ('committed', 'failed') OR (status = 'released' AND NOT leased))`
)

// age lets the lease, and Settle after it, pass. It is the test's own doing, so it does not crash.
func (t *turn) age() {
	t.enter(t.subject.class.exclusive)
	t.update(Age, ageSQL, t.subject.class.settle()+time.Millisecond)
}

// expire lets the retention pass.
func (t *turn) expire() {
	if t.subject.epochs.Load() >= mostEpochs {
		return
	}
	t.enter(true)
	if t.update(Expire, expireSQL) && !t.subject.class.atomic {
		t.subject.epochs.Add(1)
	}
}

func (t *turn) update(kind Kind, sql string, args ...any) (changed bool) {
	e := t.open(Operation{Kind: kind})
	tag, err := t.run.b.control.Exec(t.run.b.ctx, sql, append([]any{t.subject.tenant, t.subject.class.name, t.subject.id}, args...)...)
	if err != nil {
		t.run.b.t.Errorf("%s: %v", kind, err)
	}
	if tag.RowsAffected() == 0 {
		t.close(e, Result{Outcome: None})
		return false
	}
	t.close(e, Result{Outcome: OK})
	return true
}

// sweep is seen by every key. One that fails may have deleted all the same.
func (t *turn) sweep() {
	var all []*Entry
	for _, s := range t.run.subjects {
		t.mu.Lock()
		if !t.isOver() {
			all = append(all, t.run.history.Open(t.lane, Operation{Kind: Sweep, Key: s.id}))
		}
		t.mu.Unlock()
	}
	_, err := (&idem.Sweeper{Pool: t.process.pool}).Sweep(t.ctx)
	for _, e := range all {
		if err == nil {
			t.close(e, Result{Outcome: OK})
		}
	}
}

// settle is an operator who asks the downstream where it can be asked, and finishes the key.
func (t *turn) settle() {
	seen, record, ok := t.see()
	token := t.run.history.Token()
	output := Output("settled", t.subject.request(false), token)
	if ok && !t.subject.class.stepped {
		switch verdict, found := t.subject.processor.ask(record.DownstreamKey(stepNames[0])); verdict {
		case idem.Pending:
			ok = false
		case idem.Found:
			output = found
		}
	}
	e := t.open(Operation{Kind: Settle, Token: token, Answer: output})
	if !ok {
		t.close(e, Result{Outcome: None})
		return
	}
	status := "committed"
	if strings.HasPrefix(output, "declined") {
		status = "failed"
	}
	var claim pgtype.UUID
	_, _ = rand.Read(claim.Bytes[:])
	claim.Valid = true
	settled, err := gen.New().OperatorSettle(t.ctx, t.process.pool, gen.OperatorSettleParams{
		Retention: time.Hour, ClaimID: claim, ResponseStatus: 201, Status: status, ResponseHeader: []byte{}, ResponseBody: []byte(output),
		TenantID: t.subject.tenant, Endpoint: t.subject.class.name, Key: t.subject.id,
		SeenFence: seen.Fence, SeenClaimID: seen.ClaimID, Who: "an operator", Reason: "asked the downstream",
	})
	t.close(e, changed(settled, err))
}

// operatorRelease is an operator who gives the key back, because the downstream has done nothing and nothing is on its way to it.
func (t *turn) operatorRelease() {
	t.enter(true)
	seen, record, ok := t.see()
	if ok {
		for i, name := range stepNames {
			verdict, _ := t.subject.processor.ask(record.DownstreamKey(name))
			if verdict != idem.Nothing && !isRecorded(record, stepNames[i]) {
				ok = false
			}
		}
	}
	e := t.open(Operation{Kind: OperatorRelease, Token: t.run.history.Token()})
	if !ok {
		t.close(e, Result{Outcome: None})
		return
	}
	released, err := gen.New().OperatorRelease(t.ctx, t.process.pool, gen.OperatorReleaseParams{
		TenantID: t.subject.tenant, Endpoint: t.subject.class.name, Key: t.subject.id,
		SeenFence: seen.Fence, SeenClaimID: seen.ClaimID, Who: "an operator", Reason: "nothing happened",
	})
	t.close(e, changed(released, err))
}

func isRecorded(r *idem.Record, step string) bool {
	for _, s := range r.Steps {
		if s.Name == step && s.FinishedAt != nil {
			return true
		}
	}
	return false
}

// changed is the result of a conditional statement of an operator's.
func changed(rows int64, err error) Result {
	switch {
	case err != nil:
		return Result{Outcome: Unfinished}
	case rows == 0:
		return Result{Outcome: None}
	}
	return Result{Outcome: OK}
}

// see is what an operator looks at. ok where the key can be settled.
func (t *turn) see() (seen gen.KeyLookupRow, record *idem.Record, ok bool) {
	record, err := t.process.store.Lookup(t.ctx, t.subject.key(0))
	if err == nil {
		seen, err = gen.New().KeyLookup(t.ctx, t.process.pool, gen.KeyLookupParams{
			TenantID: t.subject.tenant, Endpoint: t.subject.class.name, Key: t.subject.id,
		})
	}
	if err != nil && !errors.Is(err, idem.ErrNotFound) && !errors.Is(err, pgx.ErrNoRows) && !t.process.isDead() {
		t.run.b.t.Errorf("an operator cannot look: %v", err)
	}
	return seen, record, err == nil && seen.Fence == record.Fence && (seen.State == "abandoned" || seen.State == "released")
}

// lookup reads the key.
func (t *turn) lookup() {
	e := t.open(Operation{Kind: Lookup})
	record, err := t.process.store.Lookup(t.ctx, t.subject.key(0))
	switch {
	case errors.Is(err, idem.ErrNotFound):
		t.close(e, Result{Outcome: None})
	case err != nil:
		t.close(e, ended(err))
	default:
		out := Result{Outcome: OK, State: record.State, Fence: record.Fence, Attempt: record.Attempts}
		if record.Response != nil {
			out.Answer = string(record.Response.Body)
		}
		t.close(e, out)
	}
}

// rows reads the user's own table.
func (t *turn) rows() {
	e := t.open(Operation{Kind: Rows})
	found, err := t.process.pool.Query(t.ctx, `SELECT id FROM effects WHERE tenant = $1 AND key = $2 ORDER BY id COLLATE "C"`,
		t.subject.tenant, t.subject.id)
	var ids []string
	if err == nil {
		ids, err = pgx.CollectRows(found, pgx.RowTo[string])
	}
	if err != nil {
		t.close(e, Result{Outcome: Unfinished})
		return
	}
	t.close(e, Result{Outcome: OK, Rows: strings.Join(ids, " ")})
}
