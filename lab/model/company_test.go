package model

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/internal/testdb"
)

// noCoalescing is set where the histories are to be those of single statements.
var noCoalescing = testdb.NoCoalescing()

// company is what else a process has to do. A client's claim or completion comes with some of it, so that they share a statement: who
// comes first finds nobody on the way and goes alone.
type company struct {
	callers sync.WaitGroup

	mu     sync.Mutex
	leases []*idem.Lease // to be completed
}

// companions is how many come with one call: two go alone, as many as may be under way.
const companions = 4

var companionKeys atomic.Int64

// claims has companions claim keys of their own.
func (c *company) claims(ctx context.Context, store *idem.Store) {
	var all []func()
	for range companions {
		key := idem.Key{Tenant: "company", Endpoint: "POST /", ID: fmt.Sprint(companionKeys.Add(1)), Fingerprint: idem.AnyRequest}
		all = append(all, func() {
			if l, _, err := store.Claim(ctx, key); err == nil {
				c.mu.Lock()
				defer c.mu.Unlock()
				c.leases = append(c.leases, l)
			}
		})
	}
	c.come(all)
}

// completes has companions complete theirs.
func (c *company) completes(ctx context.Context) {
	c.mu.Lock()
	n := min(len(c.leases), companions)
	leases := c.leases[:n]
	c.leases = c.leases[n:]
	c.mu.Unlock()
	var all []func()
	for _, l := range leases {
		all = append(all, func() { _ = l.Complete(ctx, &idem.Response{Body: []byte("company")}) })
	}
	c.come(all)
}

// come returns when the callers are under way.
func (c *company) come(callers []func()) {
	var ready sync.WaitGroup
	for _, call := range callers {
		ready.Add(1)
		c.callers.Go(func() {
			ready.Done()
			call()
		})
	}
	ready.Wait()
	runtime.Gosched()
}

// companyOf is that of the process that the call is made in.
func companyOf(ctx context.Context) (*company, bool) {
	t, ok := ctx.Value(turnContext{}).(*turn)
	if noCoalescing || !ok || t.process.isDead() {
		return nil, false
	}
	return &t.process.company, true
}

// inCompany is a lease that is completed together with others.
type inCompany struct{ *idem.Lease }

func (l inCompany) Complete(ctx context.Context, r *idem.Response) error {
	if c, ok := companyOf(ctx); ok {
		c.completes(ctx)
	}
	return l.Lease.Complete(ctx, r)
}

// shared counts the statements for several callers, and the keys of histories in them.
type shared struct{ claims, completions atomic.Int64 }

func (s *shared) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return ctx
}
func (*shared) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData)     {}
func (*shared) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}
func (*shared) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData)     {}
func (s *shared) TraceBatchStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceBatchStartData) context.Context {
	for _, q := range data.Batch.QueuedQueries {
		count := map[bool]*atomic.Int64{
			strings.HasPrefix(q.SQL, "-- name: KeyClaimMany "):    &s.claims,
			strings.HasPrefix(q.SQL, "-- name: KeyCompleteMany "): &s.completions,
		}[true]
		if count == nil {
			continue
		}
		texts := 0
		for _, arg := range q.Arguments {
			tenants, ok := arg.([]string)
			if !ok {
				continue
			}
			if texts++; texts == 1 {
				for _, tenant := range tenants {
					if tenant != "company" {
						count.Add(1)
					}
				}
			}
		}
	}
	return ctx
}

// check wants calls of the histories to have shared statements.
func (s *shared) check(t *testing.T) {
	t.Helper()
	claims, completions := s.claims.Load(), s.completions.Load()
	t.Logf("%d claims and %d completions shared a statement with others", claims, completions)
	if noCoalescing != (claims+completions == 0) || !noCoalescing && (claims == 0 || completions == 0) {
		t.Errorf("without coalescing: %v", noCoalescing)
	}
}
