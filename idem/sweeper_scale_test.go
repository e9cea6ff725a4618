package idem_test

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/pgidem/pgidem/idem"
)

// scaled is n times PGIDEM_SCALE (1).
func scaled(t *testing.T, n int) int {
	t.Helper()
	s := os.Getenv("PGIDEM_SCALE")
	if s == "" {
		return n
	}
	factor, err := strconv.ParseFloat(s, 64)
	if err != nil || factor <= 0 {
		t.Fatalf("PGIDEM_SCALE is %q: %v", s, err)
	}
	return max(1, int(float64(n)*factor))
}

// partition puts a table in the place of idem.keys that is the same but hash-partitioned by tenant.
func (b *bundle) partition(parts int) {
	b.t.Helper()
	b.execAsOwner("ALTER TABLE idem.keys RENAME TO plain")
	b.execAsOwner("CREATE TABLE idem.keys (LIKE idem.plain INCLUDING ALL) PARTITION BY HASH (tenant_id)")
	for i := range parts {
		b.execAsOwner(fmt.Sprintf("CREATE TABLE idem.keys_%d PARTITION OF idem.keys FOR VALUES WITH (MODULUS %d, REMAINDER %d) WITH (fillfactor = 50)", i, parts, i))
	}
	b.execAsOwner("DROP TABLE idem.plain CASCADE")
	b.execAsOwner("ALTER TABLE idem.steps ADD CONSTRAINT steps_key_fkey FOREIGN KEY (tenant_id, endpoint, key) REFERENCES idem.keys ON DELETE CASCADE")
	b.execAsOwner("GRANT SELECT, INSERT, UPDATE, DELETE ON idem.keys TO PUBLIC") // the old table's grants went with it
}

// tenants share a crowd between them.
const tenants = 20

// ofMany is the key number i of a crowd that is spread over tenants.
func (b *bundle) ofMany(name string, i int) idem.Key {
	key := b.crowded(name, i)
	key.Tenant = fmt.Sprint("merchant ", i%tenants)
	return key
}

// claims is what callers saw of the sweep.
type claims struct {
	mu     sync.Mutex
	keys   []idem.Key
	took   []time.Duration
	failed []error
}

func (c *claims) add(key idem.Key, took time.Duration, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keys, c.took = append(c.keys, key), append(c.took, took)
	if err != nil {
		c.failed = append(c.failed, err)
	}
}

// claimAll sends 50 claims a second until ctx ends, new keys and expired ones by turns, and waits for their answers.
func (b *bundle) claimAll(ctx context.Context, store *idem.Store, expired int) *claims {
	var (
		c       claims
		g       sync.WaitGroup
		renewed = map[int]bool{1: true} // the first is another's
		beat    = time.NewTicker(time.Second / 50)
	)
	defer beat.Stop()
	for i := 1; ; i++ {
		select {
		case <-ctx.Done():
			g.Wait()
			return &c
		case <-beat.C:
		}
		key := b.ofMany("new", i)
		if again := 1 + rand.N(expired); i%2 == 0 && !renewed[again] {
			renewed[again], key = true, b.ofMany("expired", again)
		}
		g.Go(func() {
			began := time.Now()
			_, err := store.Do(b.ctx, key, charge(key.ID))
			c.add(key, time.Since(began), err)
		})
	}
}

// TestSweepOf200000KeysDisturbsNoClaim: three sweepers at once delete 200,000 expired keys, while 50 claims a second go on and a
// user's transaction that has claimed one of the keys again stays open. Nobody gets an error, nobody deadlocks, and no key goes
// that should stay.
func TestSweepOf200000KeysDisturbsNoClaim(t *testing.T) {
	for _, form := range []struct {
		name    string
		prepare func(*bundle)
		tenants bool
	}{
		{"WholeTable", func(*bundle) {}, false},
		{"PartitionedByTenant", func(b *bundle) { b.partition(8) }, true},
	} {
		t.Run(form.name, func(t *testing.T) {
			b := setup(t)
			form.prepare(b)
			n := scaled(t, 200_000)
			began := time.Now()
			spread := fmt.Sprintf("'merchant ' || i %% %d", tenants)
			b.insert(crowd{name: "expired", n: n, tenant: spread, status: "committed", expiry: past + " + i * interval '1 ms'"})
			b.insert(crowd{name: "fresh", n: 1000, tenant: spread, status: "committed", expiry: ahead})
			b.insert(crowd{name: "abandoned", n: 500, tenant: spread, status: "in_flight", leased: true, locked: past, expiry: past})
			b.insert(crowd{name: "atomic", n: 500, tenant: spread, status: "in_flight", locked: past, expiry: past})
			b.insert(crowd{name: "in a step", n: 500, tenant: spread, status: "released", leased: true, expiry: past})
			b.insertSteps("in a step")
			b.exec(`INSERT INTO idem.steps (begun_at, position, tenant_id, endpoint, key, name)
				SELECT created_at, 1, tenant_id, endpoint, key, 'charge' FROM idem.keys WHERE key LIKE 'expired %7'`)
			b.exec("ANALYZE idem.keys")
			t.Logf("%d keys inserted in %.1f s", n, time.Since(began).Seconds())

			store := b.newStore(idem.Policy{Wait: 20 * time.Second})
			open := b.begin()
			if _, err := store.DoTx(b.ctx, open, b.ofMany("expired", 1), charge("expired 1")); err != nil {
				t.Fatal(err)
			}
			swept := make(chan idem.SweepStats, 3)
			var sweeps sync.WaitGroup
			for range cap(swept) {
				s := b.sweeper()
				s.PerTenant = form.tenants
				sweeps.Go(func() {
					stats, err := s.Sweep(b.ctx)
					if err != nil {
						t.Errorf("a sweeper failed: %v", err)
					}
					swept <- stats
				})
			}
			ctx, stop := context.WithCancel(b.ctx)
			go func() {
				sweeps.Wait()
				stop()
			}()
			c := b.claimAll(ctx, store, n)
			sweeps.Wait()
			var total idem.SweepStats
			for range cap(swept) {
				stats := <-swept
				total.Deleted, total.Skipped, total.Took = total.Deleted+stats.Deleted, total.Skipped+stats.Skipped, max(total.Took, stats.Took)
			}
			slices.SortFunc(c.took, cmp.Compare[time.Duration])
			t.Logf("three sweepers deleted %d keys in %.1f s, %.0f a second, and skipped %d that others had locked",
				total.Deleted, total.Took.Seconds(), float64(total.Deleted)/total.Took.Seconds(), total.Skipped)
			if len(c.took) > 0 {
				t.Logf("%d claims beside them: median %v, 99 of 100 within %v, slowest %v", len(c.took),
					c.took[len(c.took)/2].Round(time.Microsecond), c.took[len(c.took)*99/100].Round(time.Millisecond), c.took[len(c.took)-1].Round(time.Millisecond))
			}
			for _, err := range c.failed {
				t.Errorf("a claim failed beside the sweep: %v", err)
			}
			if err := open.Commit(b.ctx); err != nil {
				t.Errorf("the transaction that stayed open: %v", err)
			}

			s := b.sweeper()
			s.PerTenant = form.tenants
			last := b.sweep(s)
			if last.Skipped != 0 || last.Unresolved != 500 {
				t.Errorf("alone, a sweeper skipped %d and found %d abandoned, want 0 and 500", last.Skipped, last.Unresolved)
			}
			c.keys = append(c.keys, b.ofMany("expired", 1))
			for _, key := range c.keys {
				resp, err := store.Do(b.ctx, key, mustNotRun(t))
				if err != nil || !resp.Replayed {
					t.Errorf("%s was claimed beside the sweep and has no answer: %v", key.ID, err)
				}
				if n := b.charges(key.ID); n != 1 {
					t.Errorf("%s was charged %d times, want once", key.ID, n)
				}
			}
			left := b.left("keys")
			renewed := left["expired"]
			delete(left, "expired")
			delete(left, "new")
			if diff := gocmp.Diff(map[string]int{"fresh": 1000, "abandoned": 500, "atomic": 500, "in a step": 500}, left); diff != "" {
				t.Errorf("keys left (-want +got):\n%s", diff)
			}
			if total.Deleted+last.Deleted+int64(renewed) < int64(n) {
				t.Errorf("of %d expired keys %d were deleted and %d stand, claimed again", n, total.Deleted+last.Deleted, renewed)
			}
			if due := b.count("SELECT count(*) FROM idem.keys WHERE expires_at <= statement_timestamp() AND status = 'committed'"); due != 0 {
				t.Errorf("%d expired keys stand after a sweep alone, want 0", due)
			}
			if n := b.left("steps"); n["in a step"] != 500 || n["expired"] != 0 || len(n) != 1 {
				t.Errorf("steps left: %v, want those of 500 unfinished keys", n)
			}
		})
	}
}
