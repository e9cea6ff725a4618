package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/pgidem/pgidem/internal/testdb"
)

func TestSweepDeletesExpiredKeysAndCountsTheRest(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	db.insert(t, finished("old-1", expired), finished("old-2", expired), finished("new"), abandoned("lost", expired), inFlight("held", expired))
	c := cli(t, db.url, "sweep").want(t, 0)
	if !regexp.MustCompile(`^deleted 2 keys in [0-9.]+m?s, skipped 0 \(locked\), 1 abandoned key needs attention\n$`).MatchString(c.out) || c.err != "" {
		t.Errorf("it says %q, and on stderr %q", c.out, c.err)
	}
	if got := db.keys(t); got != "held lost new" {
		t.Errorf("left are %s", got)
	}
}

func TestSweepSkipsLockedKeys(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	db.insert(t, finished("old", expired), finished("locked", expired))
	other := newDatabase(t, db.url)
	other.exec(t, "BEGIN; SELECT FROM idem.keys WHERE key = 'locked' FOR UPDATE")
	cli(t, db.url, "sweep").want(t, 0, "deleted 1 key in ", "skipped 1 (locked)")
	other.exec(t, "ROLLBACK")
	cli(t, db.url, "sweep").want(t, 0, "deleted 1 key in ", "skipped 0 (locked)", "0 abandoned keys need attention")
}

func TestDryRunDeletesNothing(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	db.insert(t, finished("old-1", expired), finished("old-2", expired), abandoned("lost"), abandoned("lost-too"))
	c := cli(t, db.url, "sweep", "--dry-run").want(t, 0)
	if want := "would delete 2 keys, 2 abandoned keys need attention\n"; c.out != want {
		t.Errorf("it says %q, want %q", c.out, want)
	}
	if got := db.keys(t); got != "lost lost-too old-1 old-2" {
		t.Errorf("left are %s", got)
	}
}

func TestSweepJSONHasItsDocumentedNames(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	db.insert(t, finished("old-1", expired), finished("old-2", expired), finished("old-3", expired), abandoned("lost"))
	c := cli(t, db.url, "sweep", "--json", "--batch", "2", "--pause", "1ms").want(t, 0)
	var got map[string]any
	if err := json.Unmarshal([]byte(c.out), &got); err != nil {
		t.Fatalf("%s: %s", c.out, err)
	}
	if took, ok := got["took_ns"].(float64); !ok || took <= 0 {
		t.Errorf("took_ns is %v", got["took_ns"])
	}
	delete(got, "took_ns")
	want := map[string]any{"deleted": 3., "due": 3., "skipped": 0., "unresolved": 1., "batches": 2., "dry_run": false}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("it writes %v, want %v", got, want)
	}
}

func TestSweepPerTenantVisitsEveryTenant(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	db.insert(t, finished("old", expired, of("acme")), finished("old", expired, of("bolt")), finished("new", of("bolt")), finished("old", expired, of("cog")))
	c := cli(t, db.url, "sweep", "--per-tenant", "--json").want(t, 0, `"deleted":3`)
	if !strings.Contains(c.out, `"batches":3`) {
		t.Errorf("it does not go tenant by tenant: %s", c.out)
	}
	if got := db.keys(t); got != "new" {
		t.Errorf("left are %s", got)
	}
}

func TestSweepEveryGoesOnUntilASignal(t *testing.T) {
	t.Parallel()
	for name, signal := range map[string]syscall.Signal{"SIGTERM": syscall.SIGTERM, "SIGINT": syscall.SIGINT} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := migrated(t)
			db.insert(t, finished("old", expired))
			p := start(t, db.url, "sweep", "--every", "10ms", "--json")
			p.until(t, "two passes are made", func() bool { return strings.Count(p.out.String(), "\n") >= 2 })
			db.insert(t, finished("older", expired))
			p.until(t, "a later pass deletes what has expired since", func() bool { return db.keys(t) == "" })
			p.signal(t, signal)
			c := p.wait(t).want(t, 0)
			for line := range strings.Lines(c.out) {
				if !json.Valid([]byte(line)) {
					t.Errorf("a pass writes %s", line)
				}
			}
		})
	}
}

func TestSweepEveryOutlivesAFailedPass(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	db.insert(t, finished("old", expired))
	db.exec(t, "ALTER SCHEMA idem RENAME TO away")
	p := start(t, db.url, "sweep", "--every", "10ms")
	p.until(t, "a pass fails", func() bool {
		return strings.Contains(p.err.String(), "idem: schema idem is not in this database: run idem migrate up")
	})
	db.exec(t, "ALTER SCHEMA away RENAME TO idem")
	p.until(t, "a later pass deletes", func() bool { return db.keys(t) == "" })
	p.signal(t, syscall.SIGTERM)
	p.wait(t).want(t, 0)
}

func TestSweepRefusesBadValues(t *testing.T) {
	t.Parallel()
	for _, args := range []string{
		"--batch 0", "--batch -1", "--batch 100001", "--batch many", "--pause -1s", "--every 0s", "--every -1h", "--every soon", "everything",
	} {
		cli(t, testdb.Empty(t), append([]string{"sweep"}, strings.Fields(args)...)...).want(t, 2, "idem: ", "usage: idem sweep")
	}
}
