package idem_test

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/gen"
	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/internal/devpg"
	"github.com/pgidem/pgidem/internal/testdb"
)

// BenchmarkIndex weighs the ways to find abandoned keys by index: what each costs a claim with its completion, what it costs a
// heartbeat, and how long it takes to find the 100 oldest of 100 abandoned keys, beside 1,000 that are held, among
// PGIDEM_BENCH_KEYS finished ones (200,000). Without ANALYZE the first minutes of a table are measured. PostgreSQL 15 or newer.
//
//	go test -run '^$' -bench Index ./idem
//	PGIDEM_BENCH_KEYS=10000000 go test -run '^$' -bench Index/find -timeout 60m ./idem
func BenchmarkIndex(b *testing.B) {
	keys := 200_000
	if s := os.Getenv("PGIDEM_BENCH_KEYS"); s != "" {
		var err error
		if keys, err = strconv.Atoi(s); err != nil {
			b.Fatal(err)
		}
	}
	server := testdb.Server(b, devpg.Options{Settings: map[string]string{
		// what is written is counted, not how fast; and no whole pages
		"autovacuum": "off", "fsync": "off", "full_page_writes": "off", "max_wal_size": "32GB",
	}}, func(c *pgxpool.Config) {
		c.MaxConns = 1
		c.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec // see find
	})
	bench := indexBench{pool: server.Pool, store: &idem.Store{Pool: server.Pool, Policy: idem.Policy{Retention: time.Hour}}}
	defer bench.store.Close()

	candidates := []struct{ name, definition string }{
		{"created_at_where_leased", "(created_at) WHERE leased"}, // keys_leased, as the schema has it
		{"locked_until_where_in_flight", "(locked_until) WHERE status = 'in_flight'"},
		{"locked_until_where_leased", "(locked_until) WHERE leased"},
		{"none", ""},
	}
	for _, work := range []struct {
		name string
		run  func(*testing.B)
	}{{"atomic", bench.atomic}, {"lease", bench.lease}, {"heartbeat", bench.heartbeat}} {
		b.Run(work.name, func(b *testing.B) {
			for _, c := range candidates {
				b.Run(c.name, func(b *testing.B) {
					bench.exec(b, "TRUNCATE idem.keys CASCADE")
					bench.index(b, c.definition)
					work.run(b)
				})
			}
		})
	}
	b.Run("find", func(b *testing.B) {
		bench.fill(b, keys)
		for _, c := range candidates {
			bench.index(b, c.definition)
			bench.exec(b, "DELETE FROM pg_statistic WHERE starelid = 'idem.keys'::regclass")
			b.Run(c.name+"/never_analysed", bench.find)
			bench.exec(b, "ANALYZE idem.keys")
			b.Run(c.name+"/analysed", bench.find)
		}
	})
}

type indexBench struct {
	pool  *pgxpool.Pool
	store *idem.Store
	keys  int
}

func (x *indexBench) exec(b *testing.B, sql string, args ...any) {
	b.Helper()
	if _, err := x.pool.Exec(b.Context(), sql, args...); err != nil {
		b.Fatalf("%s: %v", sql, err)
	}
}

// index puts a candidate in the place of keys_leased.
func (x *indexBench) index(b *testing.B, definition string) {
	x.exec(b, "DROP INDEX IF EXISTS idem.keys_leased")
	if definition != "" {
		x.exec(b, "CREATE INDEX keys_leased ON idem.keys "+definition)
	}
}

// key is a new one: 36 characters in no order.
func (x *indexBench) key() idem.Key {
	x.keys++
	id := fmt.Sprintf("%08x-0000-4000-8000-%012x", uint32(x.keys)*0x9E3779B1, x.keys)
	return idem.Key{Tenant: "merchant", Endpoint: "POST /charges", ID: id, Fingerprint: idem.FingerprintOf([]byte("$49.00"))}
}

func (x *indexBench) claim(b *testing.B) *idem.Lease {
	lease, _, err := x.store.Claim(b.Context(), x.key())
	if err != nil {
		b.Fatal(err)
	}
	return lease
}

func (x *indexBench) atomic(b *testing.B) {
	report := x.counted(b)
	for b.Loop() {
		if _, err := x.store.Do(b.Context(), x.key(), onlyAnswer); err != nil {
			b.Fatal(err)
		}
	}
	report()
}

func (x *indexBench) lease(b *testing.B) {
	report := x.counted(b)
	for b.Loop() {
		if err := x.claim(b).Complete(b.Context(), hundred()); err != nil {
			b.Fatal(err)
		}
	}
	report()
}

func (x *indexBench) heartbeat(b *testing.B) {
	var leases []*idem.Lease
	for range 200 {
		leases = append(leases, x.claim(b))
	}
	report := x.counted(b)
	for i := 0; b.Loop(); i++ {
		if err := leases[i%len(leases)].Extend(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	report()
}

// counted reports WAL and the share of HOT updates of what runs until report is called.
func (x *indexBench) counted(b *testing.B) (report func()) {
	look := func() (wal, updated, hot float64) {
		x.exec(b, "SELECT pg_stat_force_next_flush()")
		err := x.pool.QueryRow(b.Context(), `SELECT pg_current_wal_insert_lsn() - '0/0', n_tup_upd, n_tup_hot_upd
			FROM pg_stat_user_tables WHERE relid = 'idem.keys'::regclass`).Scan(&wal, &updated, &hot)
		if err != nil {
			b.Fatal(err)
		}
		return wal, updated, hot
	}
	wal, updated, hot := look()
	return func() {
		b.StopTimer()
		walNow, updatedNow, hotNow := look()
		b.ReportMetric((walNow-wal)/float64(b.N), "WAL-B/op")
		b.ReportMetric(100*(hotNow-hot)/(updatedNow-updated), "HOT-%")
	}
}

// fill makes n finished keys, 1,000 that are held and 100 that are abandoned.
func (x *indexBench) fill(b *testing.B, n int) {
	began := time.Now()
	x.exec(b, "TRUNCATE idem.keys CASCADE")
	x.exec(b, `INSERT INTO idem.keys (fence, claimed_at, created_at, completed_at, expires_at, claim_id, attempts, response_status,
			leased, tenant_id, endpoint, key, status, fingerprint, response_header, response_body)
		SELECT i, at, at, at, at + interval '30 days', gen_random_uuid(), 1, 201,
			false, 'merchant', 'POST /charges', lpad(i::text, 36, '0'), 'committed', sha256(i::text::bytea), '', convert_to(repeat('x', 100), 'UTF8')
		FROM generate_series(1, $1) AS i, LATERAL (SELECT statement_timestamp() - interval '1 day' + i * interval '1 ms' AS at) AS moment`, n)
	x.exec(b, `INSERT INTO idem.keys (fence, claimed_at, locked_until, created_at, expires_at, claim_id, attempts,
			leased, tenant_id, endpoint, key, status, fingerprint, handler)
		SELECT i, at, at + interval '10 minutes', at, at + interval '30 days', gen_random_uuid(), 1,
			true, 'merchant', 'POST /charges', 'unfinished ' || i, 'in_flight', sha256(i::text::bytea), 'charge'
		FROM generate_series(1, 1100) AS i, LATERAL (
			SELECT statement_timestamp() + CASE WHEN i % 11 = 0 THEN i * interval '-1 s' - interval '1 hour' ELSE '1 hour' END AS at
		) AS moment`)
	x.exec(b, "CHECKPOINT")
	b.Logf("filled with %d keys in %.0f s", n, time.Since(began).Seconds())
}

// find looks as a Completer does. It plans every time: a plan in a statement cache can be older than ANALYZE.
func (x *indexBench) find(b *testing.B) {
	var first time.Duration
	began := time.Now()
	for b.Loop() {
		found, err := gen.New().KeyStale(b.Context(), x.pool, gen.KeyStaleParams{
			Handlers: []string{"charge"}, Attempts: 10, Longest: time.Hour, Jitter: 1, Batch: 100,
		})
		if err != nil || len(found) != 100 {
			b.Fatalf("found %d, %v", len(found), err)
		}
		if first == 0 {
			first = time.Since(began)
		}
	}
	b.ReportMetric(float64(first.Microseconds())/1000, "first-ms")
}
