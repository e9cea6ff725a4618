package idem

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/pgidem/pgidem/gen"
	"github.com/pgidem/pgidem/idem/internal/engine"
)

// coalescers are where calls in lease mode meet that a process makes at one moment: each kind travels in one statement, never two
// kinds in one transaction.
type coalescers struct {
	claims      engine.Claims
	completions engine.Coalescer[*completion]
	beats       engine.Coalescer[*heartbeat]
}

func newCoalescers() *coalescers {
	c := new(coalescers)
	c.claims.Flights, c.completions.Flights = flights, flights
	return c
}

const (
	// flights is how many statements of a kind are under way at once: while the server commits one, the next is made.
	flights = 2
	// coalescedBytes is how large a request or an answer may be that travels with others: a large one is copied more often in an
	// array, gains little, and keeps the others waiting.
	coalescedBytes = 8 << 10
)

// Coalesces reports whether the claim may travel with others.
func (r *keyRow) Coalesces() bool { return r.leased && len(r.key.Request) <= coalescedBytes }

// ClaimTogether claims rows, all of them keys of lease mode, and loads those that stand already, in one statement. A row that it
// leaves as it was is one about which nothing is known yet.
func (r *keyRow) ClaimTogether(t *engine.Trip, rows []engine.Row) {
	asked := make(map[pgtype.UUID]*keyRow, len(rows))
	arg := gen.KeyClaimManyParams{MostBody: coalescedBytes}
	for _, row := range rows {
		k := row.(*keyRow)
		asked[k.claimID] = k
		arg.Leases = append(arg.Leases, k.policy.Lease)
		arg.Retentions = append(arg.Retentions, k.policy.Retention)
		arg.ClaimIds = append(arg.ClaimIds, k.claimID)
		arg.TenantIds = append(arg.TenantIds, k.key.Tenant)
		arg.Endpoints = append(arg.Endpoints, k.key.Endpoint)
		arg.Keys = append(arg.Keys, k.key.ID)
		arg.Fingerprints = append(arg.Fingerprints, []byte(k.key.Fingerprint))
		arg.Handlers = append(arg.Handlers, k.policy.Handler)
		arg.Requests = append(arg.Requests, bytesOrNull(k.key.Request))
	}
	t.Add(func(ctx context.Context, db gen.DBTX) error {
		found, err := q.KeyClaimMany(ctx, db, arg)
		for _, f := range found {
			asked[f.AskedBy].found(f)
		}
		return err
	})
}

// found is what came back of a claim for several.
func (r *keyRow) found(f gen.KeyClaimManyRow) {
	if f.Taken {
		r.claimed = &claimedRow{Fence: f.Fence, Attempts: f.Attempts, Fingerprint: []byte(r.key.Fingerprint)}
		return
	}
	r.loaded = &gen.KeyLoadRow{
		Status: f.Status, Leased: f.Leased, Fence: f.Fence, ClaimID: f.ClaimID, Attempts: f.Attempts, Fingerprint: f.Fingerprint,
		ResponseStatus: f.ResponseStatus, ResponseHeader: f.ResponseHeader, ResponseBody: f.ResponseBody,
		ProviderRef: f.ProviderRef, CompletedAt: f.CompletedAt, Age: f.Age, Remaining: f.Remaining, ExpiresIn: f.ExpiresIn,
	}
}

// completion is one caller of a completion for several.
type completion struct {
	lease *Lease
	arg   gen.KeyCompleteParams

	at      *time.Time
	err     error
	decided bool // else it is to be repeated alone
}

// finish records the answer, with those of other callers where there are any, and returns when; nil where no row fitted.
func (l *Lease) finish(ctx context.Context, arg gen.KeyCompleteParams) (*time.Time, error) {
	alone := func() (*time.Time, error) {
		return l.record(ctx, func(ctx context.Context, db gen.DBTX) (*time.Time, error) { return q.KeyComplete(ctx, db, arg) })
	}
	meet := l.op.shared.meet
	if meet == nil || len(arg.ResponseBody)+len(arg.ResponseHeader) > coalescedBytes {
		return alone()
	}
	c := &completion{lease: l, arg: arg}
	_ = meet.completions.Do(context.WithoutCancel(ctx), c, func(all []*completion) {
		if len(all) == 1 {
			c.at, c.err = alone()
			c.decided = true
			return
		}
		l.finishTogether(ctx, all)
	})
	if c.decided {
		return c.at, c.err
	}
	return alone()
}

// finishTogether records the answers of all. It leaves undecided what was locked or did not fit, and everything after an error.
func (l *Lease) finishTogether(ctx context.Context, all []*completion) {
	asked := make(map[pgtype.UUID]*completion, len(all))
	bound := engine.Bound{Together: true, Statement: l.bound().Statement}
	var arg gen.KeyCompleteManyParams
	for _, c := range all {
		if asked[c.arg.ClaimID] != nil {
			continue // the same lease completed twice at once: one of them must find the other's answer
		}
		asked[c.arg.ClaimID] = c
		bound.Statement = min(bound.Statement, c.lease.bound().Statement)
		arg.Retentions = append(arg.Retentions, c.arg.Retention)
		arg.ClaimIds = append(arg.ClaimIds, c.arg.ClaimID)
		arg.Fences = append(arg.Fences, c.arg.Fence)
		arg.ResponseStatuses = append(arg.ResponseStatuses, c.arg.ResponseStatus)
		arg.TenantIds = append(arg.TenantIds, c.arg.TenantID)
		arg.Endpoints = append(arg.Endpoints, c.arg.Endpoint)
		arg.Keys = append(arg.Keys, c.arg.Key)
		arg.Statuses = append(arg.Statuses, c.arg.Status)
		arg.ResponseHeaders = append(arg.ResponseHeaders, c.arg.ResponseHeader)
		arg.ResponseBodies = append(arg.ResponseBodies, c.arg.ResponseBody)
		arg.ProviderRefs = append(arg.ProviderRefs, textOrEmpty(c.arg.ProviderRef))
	}
	_ = l.op.shared.engine.WriteOnce(ctx, bound, func(t *engine.Trip) (keep func()) {
		var done []gen.KeyCompleteManyRow
		t.Add(func(ctx context.Context, db gen.DBTX) (err error) {
			done, err = q.KeyCompleteMany(ctx, db, arg)
			return err
		})
		return func() {
			for _, row := range done {
				c := asked[row.ClaimID]
				c.at, c.decided = row.CompletedAt, true
			}
		}
	})
}

// heartbeat is one caller of a heartbeat for several.
type heartbeat struct {
	lease *Lease
	err   error
	done  bool // else it is to be repeated alone
}

// beatTogether extends the leases of all, deaf to the end of the leader's own. It leaves undecided what was locked or did not fit,
// and everything after an error.
func (l *Lease) beatTogether(ctx context.Context, all []*heartbeat) {
	bound := engine.Bound{Together: true, Statement: l.op.policy.Lease / 3, Lock: heartbeatLock}
	for _, b := range all {
		bound.Statement = min(bound.Statement, b.lease.op.policy.Lease/3)
	}
	_ = l.op.shared.heartbeat.WriteAside(context.WithoutCancel(ctx), l.op.store.Pool, bound, func(t *engine.Trip) (keep func()) {
		sent := time.Now()
		asked := make(map[pgtype.UUID]*heartbeat, len(all))
		var arg gen.LeaseExtendManyParams
		for _, b := range all { // only now that the connection is there: a lease may have been handed over meanwhile
			row := b.lease.row()
			asked[row.claimID] = b
			arg.Leases = append(arg.Leases, b.lease.grant())
			arg.ClaimIds = append(arg.ClaimIds, row.claimID)
			arg.Fences = append(arg.Fences, b.lease.Fence())
			arg.TenantIds = append(arg.TenantIds, row.key.Tenant)
			arg.Endpoints = append(arg.Endpoints, row.key.Endpoint)
			arg.Keys = append(arg.Keys, row.key.ID)
		}
		var extended []pgtype.UUID
		t.Add(func(ctx context.Context, db gen.DBTX) (err error) {
			extended, err = q.LeaseExtendMany(ctx, db, arg)
			return err
		})
		return func() {
			for _, id := range extended {
				b := asked[id]
				b.lease.extended(sent)
				b.done = true
			}
		}
	})
}

func textOrEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
