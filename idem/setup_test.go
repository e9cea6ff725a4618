package idem_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/gen"
	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/internal/testdb"
)

// bundle is what every test gets: a store on a database of its own with a table of charges that has no unique index, so that a
// test counts what the protocol does and not what a second constraint rescued it from (article 000).
type bundle struct {
	t     *testing.T
	ctx   context.Context
	pool  *pgxpool.Pool
	store *idem.Store
}

func setup(t *testing.T, mutate ...func(*pgxpool.Config)) *bundle {
	t.Helper()
	b := &bundle{t: t, ctx: t.Context(), pool: testdb.New(t, mutate...)}
	b.store = b.newStore(idem.Policy{Retention: time.Hour})
	b.exec("CREATE TABLE charges (id bigint GENERATED ALWAYS AS IDENTITY, key text NOT NULL)")
	return b
}

// on is the bundle for a subtest.
func (b *bundle) on(t *testing.T) *bundle {
	return &bundle{t: t, ctx: t.Context(), pool: b.pool, store: b.store}
}

// newStore is another process's store on the same database: it shares no memory with b.store.
func (b *bundle) newStore(p idem.Policy) *idem.Store {
	s := &idem.Store{NoCoalescing: testdb.NoCoalescing(), Pool: b.pool, Policy: p}
	b.t.Cleanup(s.Close)
	return s
}

func (b *bundle) exec(sql string, args ...any) {
	b.t.Helper()
	if _, err := b.pool.Exec(b.ctx, sql, args...); err != nil {
		b.t.Fatalf("%s: %v", sql, err)
	}
}

// execAsOwner changes schema idem itself, which the role of a least-privileged run may not.
func (b *bundle) execAsOwner(sql string, args ...any) {
	b.t.Helper()
	ctx := context.WithoutCancel(b.ctx) // it also clears away after a test
	err := b.pool.AcquireFunc(ctx, func(conn *pgxpool.Conn) error {
		if _, err := conn.Exec(ctx, "RESET ROLE"); err != nil {
			return err
		}
		_, err := conn.Exec(ctx, sql, args...)
		return errors.Join(err, conn.Conn().Close(ctx)) // the role goes with the connection
	})
	if err != nil {
		b.t.Fatalf("%s: %v", sql, err)
	}
}

func (b *bundle) count(sql string, args ...any) (n int) {
	b.t.Helper()
	if err := b.pool.QueryRow(b.ctx, sql, args...).Scan(&n); err != nil {
		b.t.Fatalf("%s: %v", sql, err)
	}
	return n
}

// charges counts the effects under id.
func (b *bundle) charges(id string) int {
	b.t.Helper()
	return b.count("SELECT count(*) FROM charges WHERE key = $1", id)
}

// key is a key of the test's own tenant; tests that share a database do not meet.
func (b *bundle) key(id string) idem.Key {
	return idem.Key{Tenant: b.t.Name(), Endpoint: "POST /charges", ID: id, Fingerprint: idem.FingerprintOf([]byte("$49.00"))}
}

// charge is work of atomic mode: one row, answered with 201.
func charge(id string) idem.TxWork {
	return func(ctx context.Context, tx pgx.Tx) (*idem.Response, error) {
		if _, err := tx.Exec(ctx, "INSERT INTO charges (key) VALUES ($1)", id); err != nil {
			return nil, err
		}
		return created(), nil
	}
}

func created() *idem.Response {
	return &idem.Response{Status: 201, Header: map[string][]string{"Location": {"/charges/1"}}, Body: []byte(`{"id":"ch_1"}` + "\n")}
}

// mustNotRun is work for a key that has its answer.
func mustNotRun(t *testing.T) idem.TxWork {
	return func(context.Context, pgx.Tx) (*idem.Response, error) {
		t.Error("the work ran again")
		return nil, errors.New("the work ran again")
	}
}

// age moves every time of a key into the past, as if d had gone by: nothing sleeps.
func (b *bundle) age(key idem.Key, d time.Duration) {
	b.t.Helper()
	b.exec(`UPDATE idem.keys SET claimed_at = claimed_at - $4::interval, locked_until = locked_until - $4::interval, created_at = created_at - $4::interval,
		completed_at = completed_at - $4::interval, expires_at = expires_at - $4::interval
		WHERE tenant_id = $1 AND endpoint = $2 AND key = $3`, key.Tenant, key.Endpoint, key.ID, d)
}

// waitBlocked returns once n sessions of the database wait for a lock.
func (b *bundle) waitBlocked(n int) {
	b.t.Helper()
	b.eventually(func() bool {
		return b.count("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'") >= n
	}, "%d sessions never waited for a lock", n)
}

// eventually polls until ok, with a deadline that only a hang reaches.
func (b *bundle) eventually(ok func() bool, format string, args ...any) {
	b.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			b.t.Fatalf(format, args...)
		}
	}
}

func wantIs(t *testing.T, err, target error) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Fatalf("got error %v, want %v", err, target)
	}
}

// begin opens a transaction of a session of its own, rolled back at the end of the test.
func (b *bundle) begin() pgx.Tx {
	b.t.Helper()
	tx, err := b.pool.Begin(b.ctx)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = tx.Rollback(context.WithoutCancel(b.ctx)) })
	return tx
}

// claimBy claims key in tx, by the statement alone: the key of a rival that has not committed.
func (b *bundle) claimBy(tx pgx.Tx, key idem.Key) gen.KeyClaimRow {
	b.t.Helper()
	claimed, err := gen.New().KeyClaim(b.ctx, tx, gen.KeyClaimParams{
		Lease: time.Minute, Retention: time.Hour, ClaimID: pgtype.UUID{Bytes: [16]byte{0xff}, Valid: true},
		TenantID: key.Tenant, Endpoint: key.Endpoint, Key: key.ID, Fingerprint: []byte(key.Fingerprint),
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return claimed
}

func (b *bundle) rollback(tx pgx.Tx) {
	b.t.Helper()
	if err := tx.Rollback(b.ctx); err != nil {
		b.t.Fatal(err)
	}
}

// sqlState is the SQLSTATE of err, "" where it has none.
func sqlState(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code
	}
	return ""
}
