package idem_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/internal/testdb"
)

// crowd is many keys in one state, named by it and a number. What may vary from key to key is an SQL expression over that
// number, i.
type crowd struct {
	name   string
	n      int
	tenant string // empty: 'merchant'
	status string
	leased bool
	locked string // end of the lease; empty: NULL
	expiry string
}

func (b *bundle) insert(c crowd) {
	b.t.Helper()
	completed, answer, header := "NULL", "NULL", "NULL"
	if c.status == "committed" || c.status == "failed" {
		completed, answer, header = "statement_timestamp()", "200", "''"
	}
	or := func(s, otherwise string) string {
		if s == "" {
			return otherwise
		}
		return s
	}
	b.exec(`INSERT INTO idem.keys (fence, claimed_at, locked_until, created_at, completed_at, expires_at, claim_id, attempts,
			response_status, leased, tenant_id, endpoint, key, status, fingerprint, response_header)
		SELECT 1, statement_timestamp(), `+or(c.locked, "NULL")+`, statement_timestamp(), `+completed+`, `+c.expiry+`, gen_random_uuid(), 1,
			`+answer+`, $1::boolean, `+or(c.tenant, "'merchant'")+`, 'POST /charges', $2::text || ' ' || i, $3::text, $4::bytea, `+header+`
		FROM generate_series(1, $5::integer) AS i`,
		c.leased, c.name, c.status, []byte(b.crowded(c.name, 1).Fingerprint), c.n)
}

// crowded is the key number i of a crowd.
func (b *bundle) crowded(name string, i int) idem.Key {
	key := b.key(fmt.Sprint(name, " ", i))
	key.Tenant = "merchant"
	return key
}

// insertSteps records a step for each key of a crowd.
func (b *bundle) insertSteps(name string) {
	b.t.Helper()
	b.exec(`INSERT INTO idem.steps (begun_at, position, tenant_id, endpoint, key, name)
		SELECT created_at, 1, tenant_id, endpoint, key, 'charge' FROM idem.keys WHERE key LIKE $1 || ' %'`, name)
}

const (
	past  = "statement_timestamp() - interval '1 hour'"
	ahead = "statement_timestamp() + interval '1 hour'"
)

// population is keys in every state: due is how many a sweep deletes, and abandoned how many it counts.
func (b *bundle) population() (due, abandoned int64) {
	for _, c := range []crowd{
		{name: "expired", n: 11, status: "committed", expiry: past},
		{name: "refused", n: 12, status: "failed", expiry: past},
		{name: "given back", n: 13, status: "released", expiry: past},

		{name: "fresh", n: 2, status: "committed", expiry: ahead},
		{name: "refused lately", n: 3, status: "failed", expiry: ahead},
		{name: "given back lately", n: 4, status: "released", expiry: ahead},
		{name: "given back in a step", n: 5, status: "released", leased: true, expiry: past},
		{name: "held", n: 6, status: "in_flight", leased: true, locked: ahead, expiry: past},
		{name: "abandoned", n: 7, status: "in_flight", leased: true, locked: past, expiry: past},
		{name: "atomic", n: 8, status: "in_flight", locked: past, expiry: past},
	} {
		b.insert(c)
	}
	for _, name := range []string{"expired", "given back in a step", "abandoned"} {
		b.insertSteps(name)
	}
	return 11 + 12 + 13, 7
}

// left counts what stands by crowd.
func (b *bundle) left(table string) map[string]int {
	b.t.Helper()
	rows, _ := b.pool.Query(b.ctx, "SELECT rtrim(key, ' 0123456789') FROM idem."+table)
	keys, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		b.t.Fatal(err)
	}
	counts := map[string]int{}
	for _, key := range keys {
		counts[key]++
	}
	return counts
}

// sweeper is one that fails where it would wait for a row.
func (b *bundle) sweeper(mutate ...func(*pgxpool.Config)) *idem.Sweeper {
	mutate = append(mutate, func(c *pgxpool.Config) { c.ConnConfig.RuntimeParams["lock_timeout"] = "10s" })
	return &idem.Sweeper{Pool: testdb.Pool(b.t, b.pool.Config().ConnString(), mutate...)}
}

func (b *bundle) sweep(s *idem.Sweeper) idem.SweepStats {
	b.t.Helper()
	stats, err := s.Sweep(b.ctx)
	if err != nil {
		b.t.Fatalf("after %d batches: %v", stats.Batches, err)
	}
	return stats
}

// forms runs a test of both forms of the sweep.
func forms(t *testing.T, f func(b *bundle, s *idem.Sweeper)) {
	for name, perTenant := range map[string]bool{"WholeTable": false, "PerTenant": true} {
		t.Run(name, func(t *testing.T) {
			b := setup(t)
			s := b.sweeper()
			s.PerTenant = perTenant
			f(b, s)
		})
	}
}

func TestSweepDeletesFinishedKeysPastTheirRetentionAlone(t *testing.T) {
	forms(t, func(b *bundle, s *idem.Sweeper) {
		due, abandoned := b.population()
		stats := b.sweep(s)
		if stats.Took <= 0 {
			b.t.Errorf("it took %v", stats.Took)
		}
		stats.Took, stats.Batches = 0, 0
		if diff := cmp.Diff(idem.SweepStats{Deleted: due, Due: due, Unresolved: abandoned}, stats); diff != "" {
			b.t.Errorf("stats (-want +got):\n%s", diff)
		}
		want := map[string]int{"fresh": 2, "refused lately": 3, "given back lately": 4, "given back in a step": 5, "held": 6, "abandoned": 7, "atomic": 8}
		if diff := cmp.Diff(want, b.left("keys")); diff != "" {
			b.t.Errorf("keys left (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(map[string]int{"given back in a step": 5, "abandoned": 7}, b.left("steps")); diff != "" {
			b.t.Errorf("steps left (-want +got):\n%s", diff)
		}
	})
}

func TestDryRunDeletesNothing(t *testing.T) {
	forms(t, func(b *bundle, s *idem.Sweeper) {
		due, abandoned := b.population()
		before := b.left("keys")
		s.DryRun = true
		stats := b.sweep(s)
		if stats.Due != due || stats.Deleted != 0 || stats.Unresolved != abandoned {
			b.t.Errorf("due %d, deleted %d, unresolved %d; want %d, 0, %d", stats.Due, stats.Deleted, stats.Unresolved, due, abandoned)
		}
		if diff := cmp.Diff(before, b.left("keys")); diff != "" {
			b.t.Errorf("a dry run changed the table:\n%s", diff)
		}
	})
}

// TestSweepGoesFromBatchToBatch: each a transaction of its own, so that what it deleted stays deleted when it is stopped.
func TestSweepGoesFromBatchToBatch(t *testing.T) {
	forms(t, func(b *bundle, s *idem.Sweeper) {
		b.insert(crowd{name: "expired", n: 25, status: "committed", expiry: past + " + i * interval '1 s'"})
		s.Batch = 10
		var deleted []int64
		ctx, stop := context.WithCancel(b.ctx)
		s.Progress = func(stats idem.SweepStats) {
			if deleted = append(deleted, stats.Deleted); len(deleted) == 2 {
				stop()
			}
		}
		stats, err := s.Sweep(ctx)
		if !errors.Is(err, context.Canceled) || stats.Deleted != 20 || stats.Batches != 2 {
			b.t.Errorf("stopped after %d batches and %d keys with %v, want 2, 20, context.Canceled", stats.Batches, stats.Deleted, err)
		}
		if n := b.count("SELECT count(*) FROM idem.keys"); n != 5 {
			b.t.Errorf("%d keys left, want 5", n)
		}
		if stats = b.sweep(s); stats.Deleted != 5 {
			b.t.Errorf("the next pass deleted %d, want 5", stats.Deleted)
		}
		if diff := cmp.Diff([]int64{10, 20, 5}, deleted); diff != "" {
			b.t.Errorf("deleted after each batch:\n%s", diff)
		}
	})
}

// TestSweepSkipsAKeyBeingClaimedAgain: whether it goes is decided by how that claim ends.
func TestSweepSkipsAKeyBeingClaimedAgain(t *testing.T) {
	forms(t, func(b *bundle, s *idem.Sweeper) {
		b.insert(crowd{name: "expired", n: 10, status: "committed", expiry: past})
		commits, rollsBack := b.begin(), b.begin()
		for tx, i := range map[pgx.Tx]int{commits: 3, rollsBack: 7} {
			if _, err := b.store.DoTx(b.ctx, tx, b.crowded("expired", i), charge("again")); err != nil {
				b.t.Fatal(err)
			}
		}
		if stats := b.sweep(s); stats.Deleted != 8 || !s.PerTenant && stats.Skipped != 2 {
			b.t.Errorf("beside two open claims it deleted %d and skipped %d, want 8 and 2", stats.Deleted, stats.Skipped)
		}
		if err := commits.Commit(b.ctx); err != nil {
			b.t.Fatal(err)
		}
		b.rollback(rollsBack)
		if stats := b.sweep(s); stats.Deleted != 1 || stats.Skipped != 0 {
			b.t.Errorf("the second pass deleted %d and skipped %d, want 1 and 0", stats.Deleted, stats.Skipped)
		}
		if resp, err := b.store.Do(b.ctx, b.crowded("expired", 3), mustNotRun(b.t)); err != nil || !resp.Replayed {
			b.t.Errorf("the key that was claimed again has lost its answer: %v", err)
		}
	})
}

// TestSweepSparesAKeyClaimedAgainSinceItWasFound: the DELETE asks the very row that it deletes. A gate stops it at its first
// key, when it has found the second to be due and not locked it yet. (Tenant by tenant it finds and locks in one step.)
func TestSweepSparesAKeyClaimedAgainSinceItWasFound(t *testing.T) {
	b := setup(t)
	b.insert(crowd{name: "expired", n: 3, status: "committed", expiry: past + " + i * interval '1 s'"})
	b.exec(`CREATE FUNCTION gate() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_advisory_xact_lock(1); RETURN OLD; END'`)
	b.execAsOwner(`CREATE TRIGGER gate BEFORE DELETE ON idem.keys FOR EACH ROW WHEN (OLD.key = 'expired 1') EXECUTE FUNCTION gate()`)
	// One key after the other, whatever the size of the table suggests to the planner.
	s := b.sweeper(func(c *pgxpool.Config) {
		for _, off := range []string{"enable_hashjoin", "enable_mergejoin", "enable_seqscan", "enable_bitmapscan"} {
			c.ConnConfig.RuntimeParams[off] = "off"
		}
	})
	gate := b.begin()
	if _, err := gate.Exec(b.ctx, "SELECT pg_advisory_xact_lock(1)"); err != nil {
		t.Fatal(err)
	}
	type swept struct {
		stats idem.SweepStats
		err   error
	}
	done := make(chan swept, 1)
	go func() {
		stats, err := s.Sweep(b.ctx)
		done <- swept{stats, err}
	}()
	b.waitBlocked(1)
	if _, err := b.store.Do(b.ctx, b.crowded("expired", 2), charge("again")); err != nil {
		t.Fatal(err)
	}
	b.rollback(gate)
	if got := <-done; got.err != nil || got.stats.Deleted != 2 {
		t.Errorf("it deleted %d, %v; want 2", got.stats.Deleted, got.err)
	}
	if resp, err := b.store.Do(b.ctx, b.crowded("expired", 2), mustNotRun(t)); err != nil || !resp.Replayed {
		t.Errorf("the key that was claimed again has lost its answer: %v", err)
	}
}

// TestSweepOfOneMomentEnds: 10,000 keys that expire at one moment, of which the first 3,000 are locked, more than a batch.
func TestSweepOfOneMomentEnds(t *testing.T) {
	forms(t, func(b *bundle, s *idem.Sweeper) {
		b.insert(crowd{name: "expired", n: 10_000, status: "committed", expiry: past})
		s.Batch = 1000
		ctx, stop := context.WithCancel(b.ctx)
		b.ctx = ctx
		s.Progress = func(stats idem.SweepStats) {
			if stats.Batches > 20 {
				stop()
			}
		}
		tx := b.begin()
		if _, err := tx.Exec(b.ctx, "SELECT 1 FROM idem.keys WHERE substr(key, 9)::integer <= 3000 FOR UPDATE"); err != nil {
			b.t.Fatal(err)
		}
		first := b.sweep(s)
		b.rollback(tx)
		second := b.sweep(s)
		b.t.Logf("%d keys in %d batches while 3,000 were locked, then %d in %d", first.Deleted, first.Batches, second.Deleted, second.Batches)
		if n := first.Deleted + second.Deleted; n != 10_000 || first.Deleted > 7000 {
			b.t.Errorf("it deleted %d, then %d; want 10,000 in all", first.Deleted, second.Deleted)
		}
	})
}

// skewed moves the database's clock as the sweep reads it: a function in a schema that stands before pg_catalog.
func (b *bundle) skewed() (s *idem.Sweeper, set func(by time.Duration)) {
	b.execAsOwner("CREATE SCHEMA skewed; GRANT ALL ON SCHEMA skewed TO PUBLIC")
	return b.sweeper(func(c *pgxpool.Config) { c.ConnConfig.RuntimeParams["search_path"] = "skewed, pg_catalog, public" }),
		func(by time.Duration) {
			b.exec(fmt.Sprintf(`CREATE OR REPLACE FUNCTION skewed.statement_timestamp() RETURNS timestamptz LANGUAGE sql STABLE
				AS $$SELECT pg_catalog.statement_timestamp() + interval '%d s'$$`, int(by.Seconds())))
		}
}

// TestSweepRefusesUnderAWrongClock: a clock that is ahead makes keys look expired that are still needed.
func TestSweepRefusesUnderAWrongClock(t *testing.T) {
	b := setup(t)
	s, set := b.skewed()
	b.insert(crowd{name: "expired", n: 3, status: "committed", expiry: past})
	for _, by := range []time.Duration{6 * time.Minute, -6 * time.Minute, 24 * 365 * time.Hour} {
		set(by)
		stats, err := s.Sweep(b.ctx)
		if err == nil || !strings.Contains(err.Error(), "apart") || stats.Deleted != 0 {
			t.Errorf("%v apart: deleted %d, %v; want a refusal", by, stats.Deleted, err)
		}
	}
	if n := b.count("SELECT count(*) FROM idem.keys"); n != 3 {
		t.Fatalf("%d keys left, want 3", n)
	}
	for _, by := range []time.Duration{4 * time.Minute, -4 * time.Minute} {
		set(by)
		if _, err := s.Sweep(b.ctx); err != nil {
			t.Errorf("%v apart: %v", by, err)
		}
	}
	if n := b.count("SELECT count(*) FROM idem.keys"); n != 0 {
		t.Errorf("%d keys left, want 0", n)
	}
}

// lines passes a log on line by line.
type lines chan string

func (l lines) Write(line []byte) (int, error) {
	l <- string(line)
	return len(line), nil
}

// TestRunOutlivesAFailedPass and returns nil when its context ends.
func TestRunOutlivesAFailedPass(t *testing.T) {
	b := setup(t)
	s, set := b.skewed()
	set(time.Hour)
	b.insert(crowd{name: "expired", n: 3, status: "committed", expiry: past})
	log := make(lines)
	s.Every, s.Logger = time.Millisecond, slog.New(slog.NewTextHandler(log, nil))
	ctx, stop := context.WithCancel(b.ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	if line := <-log; !strings.Contains(line, "sweep failed") || !strings.Contains(line, "apart") {
		t.Errorf("the first pass says %q", line)
	}
	set(0)
	deadline := time.After(30 * time.Second)
	for swept := false; !swept; {
		select {
		case line := <-log:
			swept = strings.Contains(line, "idem: swept") && strings.Contains(line, "deleted=3")
		case err := <-ended:
			t.Fatalf("Run ended with its first pass: %v", err)
		case <-deadline:
			t.Fatal("no pass after the failed one deleted the keys")
		}
	}
	stop()
	for {
		select {
		case <-log: // a pass that was under way
		case err := <-ended:
			if err != nil {
				t.Errorf("Run returned %v, want nil", err)
			}
			return
		case <-deadline:
			t.Fatal("Run did not return when its context ended")
		}
	}
}
