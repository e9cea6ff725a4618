package main

import (
	"strings"
	"syscall"
	"testing"

	"github.com/golang-migrate/migrate/v4/database"
	_ "github.com/golang-migrate/migrate/v4/database/pgx/v5"
)

// holdLock takes the lock as the stock CLI does.
func (d *testDatabase) holdLock(t *testing.T) database.Driver {
	t.Helper()
	driver, err := database.Open(d.stockURL(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { driver.Close() })
	if err := driver.Lock(); err != nil {
		t.Fatal(err)
	}
	return driver
}

func (p *process) awaitWaiting(t *testing.T) {
	t.Helper()
	p.until(t, "it says that another migration is running", func() bool {
		return strings.Contains(p.err.String(), "another migration is running (pid ")
	})
}

func TestTwoMigratorsAtOnceShareTheWork(t *testing.T) {
	t.Parallel()
	db := empty(t)
	held := db.holdLock(t)
	var all []*process
	for range 3 {
		all = append(all, start(t, db.url, "migrate", "up", "--wait", "5m"))
	}
	for _, p := range all {
		p.awaitWaiting(t)
	}
	db.wantAt(t, "", "0")
	if err := held.Unlock(); err != nil {
		t.Fatal(err)
	}
	var said string
	for _, p := range all {
		said += p.wait(t).want(t, 0, "schema idem is at version 5").out
	}
	if n := strings.Count(said, "applied "); n != 5 {
		t.Errorf("%d versions were applied in all, want 5:\n%s", n, said)
	}
	db.wantAt(t, "5 false", "5")
}

func TestIdemAndStockCLIAtOnceShareTheWork(t *testing.T) {
	t.Parallel()
	for range 3 {
		db := empty(t)
		ours := start(t, db.url, "migrate", "up", "--wait", "5m")
		theirs := startWith(t, nil, stock, "-path", "../../sql/schema", "-database", db.stockURL(t), "up")
		ours.wait(t).want(t, 0, "schema idem is at version 5")
		theirs.wait(t).want(t, 0)
		db.wantAt(t, "5 false", "5")
	}
}

func TestSecondMigratorGivesUpInTime(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	db.holdLock(t)
	for _, args := range [][]string{{"up", "--wait", "200ms"}, {"up", "--wait", "0s"}, {"down", "--wait", "200ms"}} {
		cli(t, db.url, append([]string{"migrate"}, args...)...).want(t, 1, "another migration is running (pid ", "has not ended within", "nothing was changed")
		db.wantAt(t, "5 false", "5")
	}
	cli(t, db.url, "migrate", "version").want(t, 0, "5\n")
}

func TestWaitingMigratorHeedsASignal(t *testing.T) {
	t.Parallel()
	db := empty(t)
	db.holdLock(t)
	p := start(t, db.url, "migrate", "up", "--wait", "5m")
	p.awaitWaiting(t)
	p.signal(t, syscall.SIGTERM)
	p.wait(t).want(t, 1, "interrupted")
	db.wantAt(t, "", "0")
}

// startStuck starts a migrator whose version 2 waits, because it refers to idem.keys, which db has locked until it commits.
func startStuck(t *testing.T, db *testDatabase) (p *process, other *testDatabase) {
	t.Helper()
	db.stock(t, "up", "1").want(t, 0)
	db.exec(t, "BEGIN; LOCK TABLE idem.keys IN SHARE MODE")
	p, other = start(t, db.url, "migrate", "up"), newDatabase(t, db.url)
	p.until(t, "version 2 waits", func() bool {
		return other.text(t, "EXISTS (SELECT FROM pg_locks WHERE NOT granted AND relation = 'idem.keys'::regclass)") == "true"
	})
	return p, other
}

func TestSignalledMigratorStopsBetweenVersions(t *testing.T) {
	t.Parallel()
	db := empty(t)
	p, _ := startStuck(t, db)
	p.signal(t, syscall.SIGTERM)
	p.until(t, "it has the signal", func() bool { return strings.Contains(p.err.String(), "idem: interrupted: ") })
	db.exec(t, "COMMIT")
	p.wait(t).want(t, 1, "applied 2 steps", "interrupted at version 2")
	db.wantAt(t, "2 false", "2")
	cli(t, db.url, "migrate", "up").want(t, 0, "schema idem is at version 5")
}

func TestMigratorWhoseSessionDiesLeavesNothingHalfDone(t *testing.T) {
	t.Parallel()
	db := empty(t)
	p, other := startStuck(t, db)
	other.exec(t, "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE NOT granted AND relation = 'idem.keys'::regclass")
	c := p.wait(t).want(t, 1, "applying migration 2 steps failed", "version 2 is dirty", "still at version 1", "force 1")
	db.exec(t, "COMMIT")
	db.wantAt(t, "2 true", "1")
	db.cureByStock(t, c)
	cli(t, db.url, "migrate", "up").want(t, 0, "schema idem is at version 5")
}

// The server goes on with a statement whose client is gone: the next migrator waits for it, and then records what it did.
func TestKilledMigratorIsWaitedFor(t *testing.T) {
	t.Parallel()
	db := empty(t)
	p, _ := startStuck(t, db)
	p.signal(t, syscall.SIGKILL)
	<-p.ended
	next := start(t, db.url, "migrate", "up", "--wait", "5m")
	next.awaitWaiting(t)
	db.exec(t, "COMMIT")
	c := next.wait(t).want(t, 1, "version 2 is dirty", "force ")
	db.cureByStock(t, c)
	cli(t, db.url, "migrate", "up").want(t, 0, "schema idem is at version 5")
}
