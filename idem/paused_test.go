package idem_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/idem"
)

// resumed is what an owner tries that was given up while it stood still, heeding no error.
var resumed = []struct {
	name string
	try  func(context.Context, *bundle, *idem.Lease, *downstream)
}{
	{"extend", func(ctx context.Context, _ *bundle, l *idem.Lease, _ *downstream) { _ = l.Extend(ctx) }},
	{"step", func(ctx context.Context, _ *bundle, l *idem.Lease, d *downstream) {
		_, _ = l.Step(ctx, "charge", d.charge)
	}},
	{"StepTx", func(ctx context.Context, b *bundle, l *idem.Lease, _ *downstream) {
		_, _ = l.StepTx(ctx, "note", insert)
	}},
	{"CompleteTx", func(ctx context.Context, b *bundle, l *idem.Lease, _ *downstream) {
		tx := b.begin()
		_, _ = insert(ctx, tx)
		_ = l.CompleteTx(ctx, tx, &idem.Response{Body: []byte("the owner's")})
		_ = tx.Commit(ctx)
	}},
	{"complete", func(ctx context.Context, _ *bundle, l *idem.Lease, _ *downstream) {
		_ = l.Complete(ctx, &idem.Response{Body: []byte("the owner's")})
	}},
	{"release", func(ctx context.Context, _ *bundle, l *idem.Lease, _ *downstream) { _ = l.Release(ctx) }},
	{"abandon", func(ctx context.Context, _ *bundle, l *idem.Lease, _ *downstream) { _ = l.Abandon(ctx) }},
}

// P7 for a whole run: an owner stands still until its key is another's, and then tries everything, each of it first once.
func TestPausedOwnerThatGoesOnChangesNothing(t *testing.T) {
	b := setup(t)
	finish := func(b *bundle, l *idem.Lease) {
		if err := l.Complete(b.ctx, created()); err != nil {
			b.t.Fatal(err)
		}
	}
	for what, lose := range map[string]func(*bundle, *idem.Store){
		"a holder has it":        func(b *bundle, s *idem.Store) { b.held(s, "k") },
		"a holder has finished":  func(b *bundle, s *idem.Store) { finish(b, b.held(s, "k")) },
		"a holder has its steps": func(b *bundle, s *idem.Store) { _, _ = b.held(s, "k").Step(b.ctx, "charge", new(downstream).charge) },
		"given back and claimed again": func(b *bundle, s *idem.Store) {
			b.giveBack(b.key("k"))
			b.held(s, "k")
		},
		"given back, claimed and given back": func(b *bundle, s *idem.Store) {
			b.giveBack(b.key("k"))
			if err := b.held(s, "k").Release(b.ctx); err != nil {
				b.t.Fatal(err)
			}
		},
		"given back, claimed and finished": func(b *bundle, s *idem.Store) {
			b.giveBack(b.key("k"))
			finish(b, b.held(s, "k"))
		},
	} {
		for where, another := range map[string]func(*bundle, *idem.Store) *idem.Store{
			"in one process":     func(_ *bundle, s *idem.Store) *idem.Store { return s },
			"in another process": func(b *bundle, _ *idem.Store) *idem.Store { return b.newStore(rerun) },
		} {
			for first := range resumed {
				t.Run(what+"/"+where+"/"+resumed[first].name, func(t *testing.T) {
					b := b.on(t)
					b.exec("TRUNCATE charges")
					store, key := b.newStore(rerun), b.key("k")
					var d downstream
					var before string
					resp, err := store.Hold(b.ctx, key, func(ctx context.Context, l *idem.Lease) (*idem.Response, error) {
						b.age(key, 2*rerun.Lease)
						lose(b, another(b, store))
						before = b.standing(key)
						for i := range resumed {
							resumed[(first+i)%len(resumed)].try(ctx, b, l, &d)
						}
						return &idem.Response{Body: []byte("the owner's")}, nil
					})
					if err == nil && (!resp.Replayed || string(resp.Body) == "the owner's") {
						t.Errorf("the owner gets %+v; want what stands, or an error", resp)
					}
					if after := b.standing(key); after != before {
						t.Errorf("the owner changed what stands:\n%s\n%s", before, after)
					}
					if d.total() != 0 || b.charges("k") != 0 {
						t.Errorf("the owner had %d effects elsewhere, and %d rows here", d.total(), b.charges("k"))
					}
				})
			}
		}
	}
}

// standing is the key's row with its steps, as text.
func (b *bundle) standing(key idem.Key) string {
	b.t.Helper()
	var steps string
	err := b.pool.QueryRow(b.ctx, "SELECT coalesce(string_agg(s::text, ' ' ORDER BY position), '') FROM idem.steps AS s WHERE tenant_id = $1 AND key = $2",
		key.Tenant, key.ID).Scan(&steps)
	if err != nil {
		b.t.Fatal(err)
	}
	return b.row(key) + steps
}

// pauseAfter is a tracer that calls pause when a batch with a query of that name has been answered, before whoever sent it
// knows.
type pauseAfter struct {
	query string
	pause func()
}

// trace sets the tracer of a pool.
func (p pauseAfter) trace(c *pgxpool.Config) { c.ConnConfig.Tracer = p }

type pausesContext struct{}

func (p pauseAfter) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return ctx
}
func (pauseAfter) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}
func (p pauseAfter) TraceBatchStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceBatchStartData) context.Context {
	for _, q := range data.Batch.QueuedQueries {
		if len(q.SQL) > len(p.query) && q.SQL[9:9+len(p.query)] == p.query {
			return context.WithValue(ctx, pausesContext{}, true)
		}
	}
	return ctx
}
func (pauseAfter) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}
func (p pauseAfter) TraceBatchEnd(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchEndData) {
	if ctx.Value(pausesContext{}) != nil {
		p.pause()
	}
}

// That a step begins is on record; then the process stands still until the lease is over and another holder has done the work.
// When it goes on it looks at its clock, and calls nobody: the downstream may not refuse a second call.
func TestStepOfAProcessThatStoodStillCallsNobody(t *testing.T) {
	t.Parallel()
	b := setup(t)
	policy := idem.Policy{Lease: 700 * time.Millisecond, Retention: time.Hour, Stale: idem.StaleRerun, Wait: -1}
	rival, key := b.newStore(policy), b.key("k")
	var zombies, rivals downstream
	store := b.process(policy, pauseAfter{"StepBegin", func() {
		b.eventually(func() bool {
			lease, _, _ := rival.Claim(b.ctx, key) // in flight until the lease is over
			if lease == nil {
				return false
			}
			_, err := lease.Step(b.ctx, "charge", rivals.charge)
			if err = errors.Join(err, lease.Complete(b.ctx, created())); err != nil {
				t.Error(err)
			}
			return true
		}, "the lease never lapsed")
	}}.trace)
	lease := b.held(store, "k")
	_, err := lease.Step(b.ctx, "charge", zombies.charge)
	if !errors.Is(err, idem.ErrLeaseLost) {
		t.Errorf("got %v, want ErrLeaseLost", err)
	}
	if zombies.total() != 0 || rivals.total() != 1 {
		t.Errorf("%d calls of the process that stood still, %d of its rival; want 0 and 1", zombies.total(), rivals.total())
	}
}
