package idem_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/internal/devpg"
	"github.com/pgidem/pgidem/internal/faketime"
	"github.com/pgidem/pgidem/internal/testdb"
)

// P10: one clock, the database's. Its being minutes ahead of this process's, behind it, or stepping, makes no key lapse that is
// held, and holds none that has lapsed (case C41).
func TestP10OneClock(t *testing.T) {
	t.Parallel()
	clock := faketime.New(t)
	server := testdb.Server(t, devpg.Options{Env: clock.Env()})
	const lease = 30 * time.Second
	policy := idem.Policy{Retention: time.Hour, Lease: lease, Wait: -1, Stale: idem.StaleRerun}
	b := &bundle{t: t, ctx: t.Context(), pool: server.Pool}
	b.exec("CREATE TABLE charges (id bigint GENERATED ALWAYS AS IDENTITY, key text NOT NULL)")

	for name, ahead := range map[string]time.Duration{"ahead": 5 * time.Minute, "behind": -5 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			b := b.on(t)
			clock.Set(ahead)
			if skew := time.Duration(b.count("SELECT extract(epoch FROM statement_timestamp())::bigint")-int(time.Now().Unix())) * time.Second; (skew - ahead).Abs() > time.Minute {
				t.Fatalf("the server's clock is %v from ours, want %v: the test would show nothing", skew, ahead)
			}
			holder, rival := b.newStore(policy), b.newStore(policy)
			lease1, _, err := holder.Claim(b.ctx, b.key("k"))
			if err != nil {
				t.Fatal(err)
			}
			_, _, err = rival.Claim(b.ctx, b.key("k"))
			wantIs(t, err, idem.ErrInFlight)
			if after, ok := idem.RetryAfter(err); !ok || after <= 0 || after > lease {
				t.Errorf("RetryAfter %v, %v; want within the lease of %v", after, ok, lease)
			}
			if err := lease1.Extend(b.ctx); err != nil {
				t.Errorf("the holder cannot extend: %v", err)
			}
			clock.Set(ahead + lease + 2*time.Second) // the lease goes by
			lease2, _, err := rival.Claim(b.ctx, b.key("k"))
			if err != nil {
				t.Fatalf("a lapsed lease was not taken over: %v", err)
			}
			if lease2.Fence() <= lease1.Fence() {
				t.Errorf("fence %d after %d", lease2.Fence(), lease1.Fence())
			}
			clock.Set(ahead - time.Hour) // the clock steps back, and the fence rises all the same
			if err := lease2.Abandon(b.ctx); err != nil {
				t.Fatal(err)
			}
			lease3, _, err := holder.Claim(b.ctx, b.key("k"))
			if err != nil {
				t.Fatal(err)
			}
			if lease3.Fence() <= lease2.Fence() {
				t.Errorf("fence %d after %d: it fell with the clock", lease3.Fence(), lease2.Fence())
			}
			wantIs(t, lease1.Complete(b.ctx, created()), idem.ErrLeaseLost)
		})
	}

	// now() stands still in a transaction; a lease counted from it would be born old.
	t.Run("in an old transaction", func(t *testing.T) {
		b := b.on(t)
		clock.Set(0)
		tx := b.begin()
		if _, err := tx.Exec(b.ctx, "SELECT 1"); err != nil {
			t.Fatal(err)
		}
		clock.Set(20 * time.Second)
		b.claimBy(tx, b.key("k")) // with a lease of a minute
		var left float64
		err := tx.QueryRow(b.ctx, `SELECT extract(epoch FROM locked_until - clock_timestamp())::float8 FROM idem.keys
			WHERE tenant_id = $1`, t.Name()).Scan(&left)
		if err != nil {
			t.Fatal(err)
		}
		if left < 55 {
			t.Errorf("the lease of 60 s has %.0f s left at its birth", left)
		}
	})

	t.Run("the sweep stands still under a wrong clock", func(t *testing.T) {
		b := b.on(t)
		clock.Set(0)
		if _, err := b.newStore(policy).Do(b.ctx, b.key("k"), charge("k")); err != nil {
			t.Fatal(err)
		}
		clock.Set(2 * time.Hour)
		stats, err := (&idem.Sweeper{Pool: b.pool}).Sweep(b.ctx)
		if err == nil || stats.Deleted != 0 {
			t.Errorf("swept %+v under a clock two hours ahead", stats)
		}
	})
}

// C42: a session's time zone, and the night in which its clocks change, are nothing to a lease or a retention.
func TestC42TimeZonesChangeNothing(t *testing.T) {
	t.Parallel()
	clock := faketime.New(t)
	server := testdb.Server(t, devpg.Options{Env: append(clock.Env(), "PGTZ=Asia/Tokyo"), Settings: map[string]string{"timezone": "Asia/Tokyo"}})
	// 2 a.m. on 2027-03-14 does not exist in St John's: the clock goes from 1:59:59 NST to 3:00 NDT.
	night := time.Until(time.Date(2027, 3, 14, 5, 0, 0, 0, time.UTC))
	for _, zone := range []string{"America/St_Johns", "Asia/Tokyo", "UTC"} {
		t.Run(zone, func(t *testing.T) {
			clock.Set(night)
			pool := testdb.Pool(t, server.URL, testdb.AsSuperuser, func(c *pgxpool.Config) { c.ConnConfig.RuntimeParams["TimeZone"] = zone })
			b := &bundle{t: t, ctx: t.Context(), pool: pool}
			store := b.newStore(idem.Policy{Retention: time.Hour, Lease: time.Minute, Wait: -1})
			work := func(context.Context, pgx.Tx) (*idem.Response, error) { return created(), nil }
			first, err := store.Do(b.ctx, b.key("k"), work)
			if err != nil {
				t.Fatal(err)
			}
			record, err := store.Lookup(b.ctx, b.key("k"))
			if err != nil {
				t.Fatal(err)
			}
			if kept := record.ExpiresAt.Sub(record.CreatedAt); kept < time.Hour || kept > time.Hour+time.Minute+time.Second {
				t.Errorf("kept for %v, want an hour and at most a lease", kept)
			}
			clock.Set(night + 59*time.Minute) // over the change
			again, err := store.Do(b.ctx, b.key("k"), mustNotRun(t))
			if err != nil || !again.CompletedAt.Equal(first.CompletedAt) {
				t.Errorf("59 minutes later: %+v, %v; want the first answer of %v", again, err, first.CompletedAt)
			}
			clock.Set(night + 62*time.Minute)
			after, err := store.Do(b.ctx, b.key("k"), work)
			if err != nil || after.Replayed {
				t.Errorf("past its retention: %+v, %v; want a new run", after, err)
			}
			if _, err := store.Do(b.ctx, b.key("k"), work); errors.Is(err, idem.ErrInFlight) {
				t.Error("the renewed key looks held")
			}
		})
	}
}
