package idem_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pgidem/pgidem/idem"
)

// batches is DoBatch by a session.
func (s *session) batches(key idem.Key, work func(*idem.Batch)) step {
	return s.starts("DoBatch", func(ctx context.Context, s *session) (*idem.Response, error) { return s.store.DoBatch(ctx, key, work) })
}

// rival claims key in a transaction of its own and has not committed.
func (b *bundle) rival(key idem.Key) pgx.Tx {
	b.t.Helper()
	tx := b.begin()
	b.claimBy(tx, key)
	return tx
}

func TestDoBatchBehindARival(t *testing.T) {
	b := setup(t)
	answered := &idem.Response{Status: 204}
	for name, c := range map[string]struct {
		wait time.Duration
		end  func(*bundle, pgx.Tx, idem.Key) // nil: it stays
		want *idem.Response
		err  error
	}{
		"that rolls back": {20 * time.Second, func(b *bundle, tx pgx.Tx, _ idem.Key) { b.rollback(tx) }, answered, nil},
		"that commits its answer": {20 * time.Second, func(b *bundle, tx pgx.Tx, key idem.Key) {
			if _, err := tx.Exec(b.ctx, "UPDATE idem.keys SET status = 'committed', locked_until = NULL, completed_at = now(), response_status = 204, response_header = '', response_body = '' WHERE tenant_id = $1", key.Tenant); err != nil {
				b.t.Fatal(err)
			}
			if err := tx.Commit(b.ctx); err != nil {
				b.t.Fatal(err)
			}
		}, replayOf(answered), nil},
		"that stays":                      {300 * time.Millisecond, nil, nil, idem.ErrInFlight},
		"that stays, and nobody waits":    {-1, nil, nil, idem.ErrInFlight},
		"that stays for a third of Lease": {time.Nanosecond, nil, nil, idem.ErrInFlight},
	} {
		t.Run(name, func(t *testing.T) {
			b := b.on(t)
			key := b.key("k")
			tx := b.rival(key)
			late := b.session("late", idem.Policy{Retention: time.Hour, Wait: c.wait})
			b.inOrder(late.batches(key, queue("INSERT INTO charges (key) VALUES ('"+name+"')", "SELECT idem.answer(204, '')")))
			if c.end == nil {
				wantBounded(t, max(c.wait, 0)+slack, late.wait)
				b.inOrder(late.fails(c.err))
				if after, ok := idem.RetryAfter(late.err); !ok || after != time.Second {
					t.Errorf("RetryAfter %v, %v; want 1s", after, ok)
				}
				return
			}
			b.inOrder(b.blocked(1))
			c.end(b, tx, key)
			b.inOrder(late.gets("its answer", c.want))
			if n, want := b.charges(name), 1; c.want.Replayed && n != 0 || !c.want.Replayed && n != want {
				t.Errorf("%d charges", n)
			}
		})
	}
}

// C27: the row vanishes between the claim and the load, once or at every look.
func TestDoBatchLooksAgainWhenTheRowVanishes(t *testing.T) {
	for _, times := range []int{1, 2, 3} {
		t.Run(fmt.Sprint(times), func(t *testing.T) {
			b := setup(t)
			key := b.key("k")
			g := b.gates(1, 2, 3, 4, 5, 6)
			loser := g.gated("loser")
			steps := []step{
				do("a rival finishes", func() { b.insertFinished(key, "the old answer") }),
				loser.batches(key, charging("k")),
			}
			for n := 1; n <= times; n++ {
				steps = append(steps,
					g.reached(2*n-1), g.opens(2*n-1),
					g.reached(2*n), do("the row is deleted", func() { b.delete(key) }), g.opens(2*n),
				)
				if n < times {
					steps = append(steps, g.reached(2*n+1), do("a rival finishes", func() { b.insertFinished(key, "the old answer") }))
				}
			}
			b.inOrder(steps...)
			if times == 3 {
				b.inOrder(loser.fails(idem.ErrContended))
				if b.charges("k") != 0 || b.row(key) != "" {
					t.Errorf("%d charges, and the row %q", b.charges("k"), b.row(key))
				}
				return
			}
			b.inOrder(g.reached(2*times+1), g.opens(2*times+1), g.reached(2*times+2), g.opens(2*times+2))
			loser.wait()
			if loser.err != nil || loser.resp.Replayed || b.charges("k") != 1 {
				t.Errorf("got %+v, %v and %d charges; want a first answer and 1", loser.resp, loser.err, b.charges("k"))
			}
		})
	}
}
