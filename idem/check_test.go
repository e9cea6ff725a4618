package idem_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/internal/devpg"
	"github.com/pgidem/pgidem/internal/testdb"
)

// Check names each unsuitable set-up, with its cure, before the first claim.
func TestCheckNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	server := testdb.Server(t, devpg.Options{})
	admin := &bundle{t: t, ctx: t.Context(), pool: server.Pool}
	admin.exec("CREATE ROLE bare LOGIN SUPERUSER")
	admin.exec("CREATE ROLE weak; CREATE ROLE readonly LOGIN SUPERUSER; ALTER ROLE readonly SET default_transaction_read_only = on")
	check := func(mutate ...func(*pgxpool.Config)) error {
		pool := testdb.Pool(t, server.URL, append([]func(*pgxpool.Config){testdb.AsSuperuser}, mutate...)...)
		return (&idem.Store{Pool: pool}).Check(t.Context())
	}
	as := func(role string) func(*pgxpool.Config) {
		return func(c *pgxpool.Config) {
			c.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
				_, err := conn.Exec(ctx, "SET ROLE "+role)
				return err
			}
		}
	}
	want := func(err error, words ...string) {
		t.Helper()
		for _, word := range words {
			if err == nil || !strings.Contains(err.Error(), word) {
				t.Errorf("got %v, want it to say %q", err, word)
			}
		}
	}
	if err := check(); err != nil {
		t.Errorf("a fit set-up is refused: %v", err)
	}
	want(check(as("weak")), "weak", "USAGE ON SCHEMA idem")
	admin.exec("GRANT USAGE ON SCHEMA idem TO weak; GRANT SELECT, INSERT ON idem.keys TO weak")
	want(check(as("weak")), `GRANT UPDATE ON idem.keys TO "weak"`, `GRANT SELECT ON idem.steps TO "weak"`)
	want(check(func(c *pgxpool.Config) { c.ConnConfig.RuntimeParams["default_transaction_read_only"] = "on" }), "read-only")
	want((&idem.Store{}).Check(t.Context()), "no Pool")
	want((&idem.Store{Pool: server.Pool, Policy: idem.Policy{Retention: time.Second}}).Check(t.Context()), "shorter than Lease")

	admin.exec("CREATE OR REPLACE FUNCTION idem.schema_version() RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT 99'")
	want(check(), "version 99", "newer than this build")
	admin.exec("CREATE OR REPLACE FUNCTION idem.schema_version() RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT 1'")
	want(check(), "version 1", "idem migrate up")
	admin.exec("DROP FUNCTION idem.schema_version()")
	want(check(), "not one that this build knows")
	admin.exec("DROP SCHEMA idem CASCADE")
	want(check(), "does not exist", "idem migrate up")
	admin.exec("ALTER SYSTEM SET fsync = off")
	admin.exec("SELECT pg_reload_conf()")
	admin.eventually(func() bool { err := check(); return err != nil && strings.Contains(err.Error(), "fsync") }, "fsync = off was never named")
}

// Commits that wait for no standby, although there is one to wait for, are forgotten by a failover.
func TestCheckNamesCommitsThatDoNotWaitForTheStandby(t *testing.T) {
	t.Parallel()
	server := testdb.Server(t, devpg.Options{Settings: map[string]string{"synchronous_standby_names": "nobody", "synchronous_commit": "local"}})
	for level, says := range map[string]string{"local": "set synchronous_commit = on", "on": "", "off": ""} { // off is raised to on
		pool := testdb.Pool(t, server.URL, testdb.AsSuperuser, func(c *pgxpool.Config) { c.ConnConfig.RuntimeParams["synchronous_commit"] = level })
		err := (&idem.Store{Pool: pool}).Check(t.Context())
		if says == "" && err != nil || says != "" && (err == nil || !strings.Contains(err.Error(), says)) {
			t.Errorf("%s: %v; want it to say %q", level, err, says)
		}
	}
}

// A hot standby is named, and a claim on it runs nothing.
func TestCheckAndClaimOnAStandby(t *testing.T) {
	t.Parallel()
	server := testdb.Server(t, devpg.Options{})
	if err := os.WriteFile(filepath.Join(server.Server.Dir(), "data", "standby.signal"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := server.Server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	b := &bundle{t: t, ctx: t.Context(), pool: testdb.Pool(t, server.URL, testdb.AsSuperuser)}
	store := b.newStore(idem.Policy{Retention: time.Hour})
	if err := store.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "standby") {
		t.Errorf("Check says %v, want that this is a standby", err)
	}
	_, err := store.Do(t.Context(), b.key("k"), mustNotRun(t))
	wantIs(t, err, idem.ErrUnavailable)
	_, _, err = store.Claim(t.Context(), b.key("k"))
	wantIs(t, err, idem.ErrUnavailable)
}

// A role or database may have another default isolation, and synchronous_commit off: the protocol names its own.
func TestDefaultsOfTheSessionDoNotMatter(t *testing.T) {
	b := setup(t, func(c *pgxpool.Config) {
		c.ConnConfig.RuntimeParams["default_transaction_isolation"] = "serializable"
		c.ConnConfig.RuntimeParams["synchronous_commit"] = "off"
	})
	var isolation, durable string
	_, err := b.store.Do(b.ctx, b.key("k"), func(ctx context.Context, tx pgx.Tx) (*idem.Response, error) {
		err := tx.QueryRow(ctx, "SELECT current_setting('transaction_isolation'), current_setting('synchronous_commit')").Scan(&isolation, &durable)
		return created(), err
	})
	if err != nil {
		t.Fatal(err)
	}
	if isolation != "read committed" || durable != "on" {
		t.Errorf("the work ran under %s with synchronous_commit %s", isolation, durable)
	}
	b.storm(b.store, b.newStore(idem.Policy{Retention: time.Hour}))
}

// storm sends one key from 32 callers over the stores, in both modes, and wants one effect and nobody failed.
func (b *bundle) storm(stores ...*idem.Store) {
	b.t.Helper()
	ended := make(chan error, 64)
	for i := range cap(ended) {
		store := stores[i/2%len(stores)]
		go func() {
			var err error
			if i%2 == 0 {
				_, err = store.Do(b.ctx, b.key("storm"), charge("storm"))
			} else {
				_, err = store.Hold(b.ctx, b.key("storm hold"), func(ctx context.Context, l *idem.Lease) (*idem.Response, error) {
					_, err := b.pool.Exec(ctx, "INSERT INTO charges (key) VALUES ('storm hold')")
					return created(), err
				})
			}
			ended <- err
		}()
	}
	for range cap(ended) {
		if err := <-ended; err != nil {
			b.t.Error(err)
		}
	}
	for _, id := range []string{"storm", "storm hold"} {
		if n := b.charges(id); n != 1 {
			b.t.Errorf("%s: %d charges, want 1", id, n)
		}
	}
}
