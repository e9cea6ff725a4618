package main

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
)

// stats is what idem stats --json says.
func (d *testDatabase) stats(t *testing.T) map[string]any {
	t.Helper()
	lines := jsonLines(t, cli(t, d.url, "stats", "--json").want(t, 0).out)
	if len(lines) != 1 {
		t.Fatalf("it writes %d lines", len(lines))
	}
	return lines[0]
}

func TestStatsCountsTheKeysInEachState(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	db.insert(t, abandoned("a", old(2*time.Hour)), abandoned("b", of("bolt"), old(3*time.Hour)), inFlight("c"), givenBack("d", expired), refused("e"),
		finished("f"), finished("g", expired), finished("h", at("POST /refunds"), expired))
	got := db.stats(t)
	wantNames(t, got, "states tables oldest_snapshot")
	var states []string
	for _, state := range got["states"].([]any) {
		wantNames(t, state, "state keys expired oldest_created_at")
		s := state.(map[string]any)
		states = append(states, fmt.Sprint(s["state"], " ", s["keys"], " ", s["expired"]))
	}
	if want := "abandoned 2 0, committed 3 2, failed 1 0, held 1 0, released 1 0"; strings.Join(states, ", ") != want {
		t.Errorf("the states are %s, want %s", states, want)
	}
	oldest, err := time.Parse(time.RFC3339Nano, got["states"].([]any)[0].(map[string]any)["oldest_created_at"].(string))
	if err != nil {
		t.Fatal(err)
	}
	if db.text(t, fmt.Sprintf("SELECT min(created_at) = '%s' FROM idem.keys", oldest.Format(time.RFC3339Nano))) != "true" {
		t.Errorf("the oldest abandoned key is of %s", oldest)
	}
	if oldest.Location() != time.UTC {
		t.Errorf("the time is not in UTC: %s", oldest)
	}
	cli(t, db.url, "stats").want(t, 0, "STATE", "EXPIRED", "OLDEST CREATED", "\nabandoned  2     0 ", "\ncommitted  3     2 ", "TABLE", "\nkeys ", "\nsteps ", "\naudit ")
}

func TestStatsOfAnEmptyTable(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	got := db.stats(t)
	if states := got["states"].([]any); len(states) != 0 {
		t.Errorf("the states are %v", states)
	}
	if got["oldest_snapshot"] != nil {
		t.Errorf("the oldest snapshot is %v", got["oldest_snapshot"])
	}
	cli(t, db.url, "stats").want(t, 0, "\nno transaction holds vacuum back\n")
}

func TestStatsSaysWhatVacuumHasLeft(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	keys := func() map[string]any {
		for _, table := range db.stats(t)["tables"].([]any) {
			wantNames(t, table, "name live_rows dead_rows bytes last_vacuum")
			if of := table.(map[string]any); of["name"] == "keys" {
				return of
			}
		}
		t.Fatal("no table keys")
		return nil
	}
	// a session reports its numbers when it ends, and the server adds them up in its own time
	session := func(what string, work func(*testDatabase), live, dead float64, vacuumed bool) {
		t.Helper()
		one := newDatabase(t, db.url)
		work(one)
		if err := one.conn.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
		eventually(t, what, func() bool {
			k := keys()
			return k["live_rows"] == live && k["dead_rows"] == dead && k["bytes"].(float64) >= 8192 && (k["last_vacuum"] != nil) == vacuumed
		})
	}
	session("three rows are counted", func(d *testDatabase) { d.insert(t, finished("a"), finished("b"), finished("c")) }, 3, 0, false)
	session("the vacuum is seen", func(d *testDatabase) { d.exec(t, "VACUUM idem.keys") }, 3, 0, true)
	session("two dead rows are counted", func(d *testDatabase) { d.exec(t, "DELETE FROM idem.keys WHERE key <> 'a'") }, 1, 2, true)
}

func TestStatsNamesTheTransactionThatHoldsVacuumBack(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]string{
		"a snapshot":           "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM idem.keys",
		"no snapshot, a write": "BEGIN; UPDATE idem.keys SET attempts = attempts + 1 WHERE key = 'a'",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := migrated(t)
			db.insert(t, finished("a"), finished("b"))
			other := newDatabase(t, db.url)
			pid := other.text(t, "SELECT pg_backend_pid()")
			other.exec(t, begin)
			for range 3 {
				db.exec(t, "UPDATE idem.keys SET attempts = attempts + 1 WHERE key = 'b'")
			}
			held, ok := db.stats(t)["oldest_snapshot"].(map[string]any)
			if !ok {
				t.Fatal("nothing holds vacuum back")
			}
			wantNames(t, held, "transactions what")
			if what := held["what"].(string); !strings.HasPrefix(what, "session "+pid+", since 2") || !strings.HasSuffix(what, " UTC") || held["transactions"].(float64) < 3 {
				t.Errorf("it is %v, want session %s", held, pid)
			}
			cli(t, db.url, "stats").want(t, 0, "\noldest transaction: session "+pid+", since ", " transactions ago\n")
			other.exec(t, "ROLLBACK")
			eventually(t, "nothing holds vacuum back any more", func() bool { return db.stats(t)["oldest_snapshot"] == nil })
		})
	}
}

func TestStatsDoesNotBlameOtherDatabases(t *testing.T) {
	t.Parallel()
	db, other := migrated(t), migrated(t)
	other.exec(t, "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM idem.keys")
	if held := db.stats(t)["oldest_snapshot"]; held != nil {
		t.Errorf("it blames %v", held)
	}
}

func TestStatsTakesNoArguments(t *testing.T) {
	t.Parallel()
	for says, arg := range map[string]string{`unexpected argument "k-1"`: "k-1", "unknown flag: --tenant": "--tenant=acme"} {
		cli(t, "postgres://127.0.0.1:1/nowhere", "stats", arg).want(t, 2, says, "usage: idem stats")
	}
}
