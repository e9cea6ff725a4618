package idem_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"github.com/pgidem/pgidem/gen"
	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/internal/devpg"
	"github.com/pgidem/pgidem/internal/testdb"
)

// counted is a bundle on a server of its own, on which nothing else runs: it may count what the whole server does.
func counted(t *testing.T, settings map[string]string, mutate ...func(*pgxpool.Config)) *bundle {
	t.Helper()
	server := testdb.Server(t, devpg.Options{Settings: settings}, mutate...)
	b := &bundle{t: t, ctx: t.Context(), pool: server.Pool}
	b.store = b.newStore(idem.Policy{Retention: time.Hour})
	return b
}

// nextXid is the transaction id that the server gives out next.
func (b *bundle) nextXid() int {
	b.t.Helper()
	return b.count("SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint")
}

// wal is how many bytes of WAL the server has written.
func (b *bundle) wal() int {
	b.t.Helper()
	return b.count("SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint")
}

// versions are all row versions of idem.keys that a reader sees: where they are, who wrote them and who locked or replaced
// them. A row lock would show as the last.
func (b *bundle) versions() []string {
	b.t.Helper()
	rows, _ := b.pool.Query(b.ctx, "SELECT format('%s %s %s %s', key, ctid, xmin, xmax) FROM idem.keys ORDER BY 1")
	all, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		b.t.Fatal(err)
	}
	return all
}

// dead counts the dead row versions of idem.keys in its pages: by pgstattuple, or where the server comes without it, as
// its statistics have them.
func (b *bundle) dead() int {
	b.t.Helper()
	if b.count("SELECT count(*) FROM pg_available_extensions WHERE name = 'pgstattuple'") == 1 {
		b.exec("CREATE EXTENSION IF NOT EXISTS pgstattuple")
		return b.count("SELECT dead_tuple_count FROM pgstattuple('idem.keys')")
	}
	b.t.Log("this server has no pgstattuple: dead rows are taken from its statistics")
	return b.stats(0, 0).dead
}

// tableStats is what the server has counted on idem.keys.
type tableStats struct{ inserted, updated, hot, dead int }

// stats returns them once they hold at least so many inserts and updates. Sessions report what they did when they end, so it
// ends those of the store and its pool.
func (b *bundle) stats(inserted, updated int) (s tableStats) {
	b.t.Helper()
	b.store.Close()
	b.pool.Reset()
	b.eventually(func() bool {
		return b.count(`SELECT count(*) FROM pg_stat_activity
			WHERE backend_type = 'client backend' AND datname = current_database() AND pid <> pg_backend_pid()`) == 0
	}, "the sessions never ended")
	b.eventually(func() bool {
		err := b.pool.QueryRow(b.ctx, `SELECT n_tup_ins, n_tup_upd, n_tup_hot_upd, n_dead_tup
			FROM pg_stat_user_tables WHERE relid = 'idem.keys'::regclass`).Scan(&s.inserted, &s.updated, &s.hot, &s.dead)
		return err == nil && s.inserted >= inserted && s.updated >= updated
	}, "the server never counted %d inserts and %d updates, but %v", inserted, updated, &s)
	return s
}

// answers asks n times, four at a time, each time for one of keys.
func (b *bundle) answers(n int, keys []idem.Key, want error, ask func(context.Context, idem.Key) error) {
	b.t.Helper()
	var g errgroup.Group
	for worker := range 4 {
		g.Go(func() error {
			for i := worker; i < n; i += 4 {
				if err := ask(b.ctx, keys[i%len(keys)]); !errors.Is(err, want) {
					return fmt.Errorf("ask %d: got %v, want %v", i, err, want)
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		b.t.Fatal(err)
	}
}

// TestP9ReadingIsFree: once the key's row is committed, a replay, a 409 and a 422 write nothing of ours.
func TestP9ReadingIsFree(t *testing.T) {
	b := counted(t, map[string]string{"autovacuum": "off", "fsync": "off"})
	const asked = 10_000
	patient, never := b.store, b.store.With(idem.Policy{Retention: time.Hour, Wait: -1})

	var finished, held, others []idem.Key
	for i := range 20 {
		key := b.key(fmt.Sprint("finished ", i))
		if _, err := b.store.Do(b.ctx, key, statements(0)); err != nil {
			t.Fatal(err)
		}
		finished = append(finished, key)
		key.Fingerprint = idem.FingerprintOf([]byte("$9,000.00"))
		others = append(others, key)

		key = b.key(fmt.Sprint("held ", i))
		if _, _, err := b.store.Claim(b.ctx, key); err != nil {
			t.Fatal(err)
		}
		held = append(held, key)
		key.Fingerprint = idem.FingerprintOf([]byte("$9,000.00"))
		others = append(others, key)
	}
	claim := func(ctx context.Context, key idem.Key) error {
		_, resp, err := patient.Claim(ctx, key)
		if err == nil && !resp.Replayed {
			return fmt.Errorf("a first answer, not a replay")
		}
		return err
	}
	do := func(ctx context.Context, key idem.Key) error {
		resp, err := patient.Do(ctx, key, mustNotRun(t))
		if err == nil && !resp.Replayed {
			return fmt.Errorf("a first answer, not a replay")
		}
		return err
	}
	batch := func(ctx context.Context, key idem.Key) error {
		resp, err := patient.DoBatch(ctx, key, queue("SELECT 1/0"))
		if err == nil && !resp.Replayed {
			return fmt.Errorf("a first answer, not a replay")
		}
		return err
	}
	hold := func(ctx context.Context, key idem.Key) error {
		_, err := never.Hold(ctx, key, holdMustNotRun(t))
		return err
	}
	kinds := []struct {
		name string
		keys []idem.Key
		want error
		asks []func(context.Context, idem.Key) error
	}{
		{"a replay", finished, nil, []func(context.Context, idem.Key) error{claim, do, batch, hold}},
		{"an in-flight answer", held, idem.ErrInFlight, []func(context.Context, idem.Key) error{claim, do, batch, hold}},
		{"a mismatch", others, idem.ErrMismatch, []func(context.Context, idem.Key) error{claim, do, batch, hold}},
	}
	ask := func(n int) {
		for _, kind := range kinds {
			before, began := b.wal(), time.Now()
			for _, a := range kind.asks {
				b.answers((n+len(kind.asks)-1)/len(kind.asks), kind.keys, kind.want, a)
			}
			if n == asked {
				t.Logf("%d times %s: %.1f s, %d bytes of WAL by the whole server", n, kind.name, time.Since(began).Seconds(), b.wal()-before)
			}
		}
	}

	// The first readers of a page note in it what the commit log says, and log that once where pages have checksums; the
	// versions that the completions left are taken away, so that the count of dead ones starts at 0.
	b.exec("VACUUM idem.keys")
	ask(100)
	b.dead()
	b.exec("CHECKPOINT")

	xid, wal, versions := b.nextXid(), b.wal(), b.versions()
	ask(asked)
	if n := b.nextXid() - xid; n != 0 {
		t.Errorf("%d transaction ids were given out, want 0", n)
	}
	// The server logs things of its own: the running transactions every 15 s, a page of its catalog that it tidies up.
	if n := b.wal() - wal; n > 10*asked {
		t.Errorf("%d bytes of WAL for %d reads", n, 3*asked)
	}
	if diff := cmp.Diff(versions, b.versions()); diff != "" {
		t.Errorf("row versions or row locks differ (-before +after):\n%s", diff)
	}
	if n := b.dead(); n != 0 {
		t.Errorf("%d dead row versions, want 0", n)
	}
	for _, kind := range kinds {
		for _, leased := range []bool{false, true} {
			if xid := b.xidOfClaim(kind.keys[0], leased); xid != nil {
				t.Errorf("%s (leased %v) took transaction id %d", kind.name, leased, *xid)
			}
		}
	}
	if b.xidOfClaim(b.key("new"), true) == nil {
		t.Error("a claim of a new key took no transaction id: the question is wrong")
	}
}

// xidOfClaim is the transaction id, if any, that the claim's two statements have taken.
func (b *bundle) xidOfClaim(key idem.Key, leased bool) (xid *int64) {
	b.t.Helper()
	tx, err := b.pool.Begin(b.ctx)
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(b.ctx)) }()
	_, err = gen.New().KeyClaim(b.ctx, tx, gen.KeyClaimParams{
		Lease: time.Minute, Retention: time.Hour, ClaimID: pgtype.UUID{Bytes: [16]byte{0x2a}, Valid: true}, Leased: leased,
		TenantID: key.Tenant, Endpoint: key.Endpoint, Key: key.ID, Fingerprint: []byte(key.Fingerprint),
	})
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		b.t.Fatal(err)
	}
	_, err = gen.New().KeyLoad(b.ctx, tx, gen.KeyLoadParams{TenantID: key.Tenant, Endpoint: key.Endpoint, Key: key.ID})
	if err != nil {
		b.t.Fatal(err)
	}
	if err := tx.QueryRow(b.ctx, "SELECT pg_current_xact_id_if_assigned()::text::bigint").Scan(&xid); err != nil {
		b.t.Fatal(err)
	}
	return xid
}

// hundred is an answer of 100 bytes.
func hundred() *idem.Response { return &idem.Response{Status: 201, Body: make([]byte, 100)} }

// onlyAnswer is work of atomic mode that writes nothing: what is counted is the protocol's own.
func onlyAnswer(context.Context, pgx.Tx) (*idem.Response, error) { return hundred(), nil }

// answersHundred is hundred in SQL.
const answersHundred = `SELECT idem.answer(201, decode(repeat('00', 100), 'hex'))`

// uuids are keys as clients send them, of 36 characters: of version 4, which come to an index in no order, or of version 7,
// which come in the order of time.
func (b *bundle) uuids(version, n int) (keys []idem.Key) {
	for i := range n {
		first := uint32(i)
		if version == 4 {
			first = uint32(i+1) * 0x9E3779B1 // scattered
		}
		key := b.key(fmt.Sprintf("%08x-0000-%d000-8000-%012x", first, version, i))
		key.Tenant = "merchant"
		keys = append(keys, key)
	}
	return keys
}

// TestAtomicModeIsHOT: a completion finds room beside its claim and changes no index, so that it leaves no index entry and
// needs no vacuum. Also when sixteen claims share a page before the first completes.
func TestAtomicModeIsHOT(t *testing.T) {
	b := counted(t, map[string]string{"fsync": "off"}, func(c *pgxpool.Config) { c.MaxConns = 16 })
	keys := b.uuids(4, 5000)
	for _, key := range keys[:1000] {
		if _, err := b.store.Do(b.ctx, key, onlyAnswer); err != nil {
			t.Fatal(err)
		}
	}
	var g errgroup.Group
	g.SetLimit(16)
	for _, key := range keys[1000:] {
		g.Go(func() error {
			_, err := b.store.Do(b.ctx, key, onlyAnswer)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	s := b.stats(len(keys), len(keys))
	t.Logf("%d inserted, %d updated, %d of them HOT", s.inserted, s.updated, s.hot)
	if s.inserted != len(keys) || s.updated != len(keys) || s.hot != s.updated {
		t.Errorf("%d inserted, %d updated, %d of them HOT; want all %d", s.inserted, s.updated, s.hot, len(keys))
	}
}

// TestDoBatchIsHOTAndReadsByTheKey: so is what idem.answer writes. None of its statements reads the table from end to end, though the
// function's plan was made when it was empty and never analysed.
func TestDoBatchIsHOTAndReadsByTheKey(t *testing.T) {
	b := counted(t, map[string]string{"autovacuum": "off", "fsync": "off"}, func(c *pgxpool.Config) { c.MaxConns = 16 })
	keys := b.uuids(4, 2000)
	scans := func() int {
		return b.count("SELECT seq_scan FROM pg_stat_user_tables WHERE relid = 'idem.keys'::regclass")
	}
	b.stats(0, 0)
	before := scans() // the migrations made its indexes
	b.store = b.newStore(idem.Policy{Retention: time.Hour})
	var g errgroup.Group
	g.SetLimit(16)
	for _, key := range keys {
		g.Go(func() error {
			_, err := b.store.DoBatch(b.ctx, key, queue(answersHundred))
			return err
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	s := b.stats(len(keys), len(keys))
	if s.inserted != len(keys) || s.updated != len(keys) || s.hot != s.updated {
		t.Errorf("%d inserted, %d updated, %d of them HOT; want all %d", s.inserted, s.updated, s.hot, len(keys))
	}
	if n := scans() - before; n != 0 {
		t.Errorf("%d sequential scans of idem.keys", n)
	}
}

// TestHeartbeatIsHOT: the lease's end stands in no index.
func TestHeartbeatIsHOT(t *testing.T) {
	b := counted(t, map[string]string{"fsync": "off"})
	const keys, beats = 100, 20
	var leases []*idem.Lease
	for _, key := range b.uuids(4, keys) {
		lease, _, err := b.store.Claim(b.ctx, key)
		if err != nil {
			t.Fatal(err)
		}
		leases = append(leases, lease)
	}
	for range beats {
		for _, lease := range leases {
			if err := lease.Extend(b.ctx); err != nil {
				t.Fatal(err)
			}
		}
	}
	s := b.stats(keys, keys*beats)
	t.Logf("%d extended, %d of them HOT", s.updated, s.hot)
	if s.updated != keys*beats || s.hot != s.updated {
		t.Errorf("%d extended, %d of them HOT; want all %d", s.updated, s.hot, keys*beats)
	}
}

// TestClaimAndCompleteTakeLessThan900BytesOfWAL: whole pages, which the server logs once after a checkpoint, are not counted;
// everything else is. Keys in no order split the index's pages, some 60 bytes a key.
func TestClaimAndCompleteTakeLessThan900BytesOfWAL(t *testing.T) {
	b := counted(t, map[string]string{"autovacuum": "off", "fsync": "off", "full_page_writes": "off"})
	atomic := func(key idem.Key) error {
		_, err := b.store.Do(b.ctx, key, onlyAnswer)
		return err
	}
	batch := func(key idem.Key) error {
		_, err := b.store.DoBatch(b.ctx, key, queue(answersHundred))
		return err
	}
	leased := func(key idem.Key) error {
		lease, _, err := b.store.Claim(b.ctx, key)
		if err != nil {
			return err
		}
		return lease.Complete(b.ctx, hundred())
	}
	for _, c := range []struct {
		name          string
		version, most int
		run           func(idem.Key) error
	}{
		{"atomic mode, keys in order", 7, 900, atomic},
		{"atomic mode, keys in no order", 4, 1000, atomic},
		{"a batch, keys in order", 7, 900, batch},
		{"a batch, keys in no order", 4, 950, batch},
		// lease mode commits twice, and a completion takes the key out of keys_leased: new entries in all indexes
		{"lease mode, keys in order", 7, 1200, leased},
		{"lease mode, keys in no order", 4, 1300, leased},
	} {
		const keys = 2000
		b.exec("TRUNCATE idem.keys CASCADE")
		b.exec("CHECKPOINT")
		before := b.wal()
		for _, key := range b.uuids(c.version, keys) {
			if err := c.run(key); err != nil {
				t.Fatal(err)
			}
		}
		each := (b.wal() - before) / keys
		t.Logf("%s: %d bytes of WAL a claim and complete", c.name, each)
		if each >= c.most {
			t.Errorf("%s: %d bytes of WAL a claim and complete, want less than %d", c.name, each, c.most)
		}
	}
}

// TestStepTakesLessThan1100BytesOfWAL: what a recovery point costs (article 000: "extra database writes"). A Step is two commits,
// two versions of the key's row and two of its own; a StepTx is one commit with the rows of the user's.
func TestStepTakesLessThan1100BytesOfWAL(t *testing.T) {
	b := counted(t, map[string]string{"autovacuum": "off", "fsync": "off", "full_page_writes": "off"})
	const keys, steps = 200, 5
	name := func(i int) string { return string(rune('a' + i)) }
	for _, c := range []struct {
		kind string
		most int
		run  func(l *idem.Lease, i int) error
	}{
		{"Step", 1100, func(l *idem.Lease, i int) error {
			_, err := l.Step(b.ctx, name(i), func(context.Context, string) ([]byte, error) { return hundred().Body, nil })
			return err
		}},
		{"StepTx", 720, func(l *idem.Lease, i int) error {
			_, err := l.StepTx(b.ctx, name(i), func(context.Context, pgx.Tx) ([]byte, error) { return hundred().Body, nil })
			return err
		}},
	} {
		b.exec("TRUNCATE idem.keys CASCADE")
		var leases []*idem.Lease
		for _, key := range b.uuids(4, keys) {
			lease, _, err := b.store.Claim(b.ctx, key)
			if err != nil {
				t.Fatal(err)
			}
			leases = append(leases, lease)
		}
		b.exec("CHECKPOINT")
		before := b.wal()
		for _, lease := range leases {
			for i := range steps {
				if err := c.run(lease, i); err != nil {
					t.Fatal(err)
				}
			}
		}
		each := (b.wal() - before) / (keys * steps)
		t.Logf("%s: %d bytes of WAL", c.kind, each)
		if each >= c.most {
			t.Errorf("%s: %d bytes of WAL, want less than %d", c.kind, each, c.most)
		}
	}
}
