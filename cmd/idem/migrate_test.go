package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

func TestMigrateUpAppliesEveryVersionAndSaysEach(t *testing.T) {
	t.Parallel()
	db := empty(t)
	cli(t, db.url, "migrate", "up").want(t, 0, "applied 1 keys", "applied 2 steps", "applied 3 operators", "applied 4 answer", "applied 5 possible_key", "schema idem is at version 5\n")
	db.wantAt(t, "5 false", "5")
	cli(t, db.url, "migrate", "up").want(t, 0, "schema idem is at version 5, there is nothing to apply")
	db.wantAt(t, "5 false", "5")
}

func TestMigrateDownTakesBackOneVersion(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	for _, step := range []struct{ says, record, actual string }{
		{"took back 5 possible_key", "4 false", "4"},
		{"took back 4 answer", "3 false", "3"},
		{"took back 3 operators", "2 false", "2"},
		{"took back 2 steps", "1 false", "1"},
		{"schema idem is gone", "", "0"},
		{"nothing to take back", "", "0"},
	} {
		cli(t, db.url, "migrate", "down").want(t, 0, step.says)
		db.wantAt(t, step.record, step.actual)
	}
	cli(t, db.url, "migrate", "up").want(t, 0, "schema idem is at version 5")
	db.wantAt(t, "5 false", "5")
}

func TestMigrateDownAllWantsAYes(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	cli(t, db.url, "migrate", "down", "--all").want(t, 2, "--yes", "usage: idem migrate down")
	db.wantAt(t, "5 false", "5")
	cli(t, db.url, "migrate", "down", "--all", "--yes").want(t, 0, "took back 5 possible_key", "took back 1 keys", "schema idem is gone")
	db.wantAt(t, "", "0")
}

func TestMigrateVersionChangesNothing(t *testing.T) {
	t.Parallel()
	db := empty(t)
	c := cli(t, db.url, "migrate", "version").want(t, 0)
	if want := "0 (none)\npending: 1 keys\npending: 2 steps\npending: 3 operators\npending: 4 answer\npending: 5 possible_key\n"; c.out != want {
		t.Errorf("it says %q, want %q", c.out, want)
	}
	db.wantAt(t, "none", "0")
	cli(t, db.url, "migrate", "up").want(t, 0)
	if c := cli(t, db.url, "migrate", "version").want(t, 0); c.out != "5\n" {
		t.Errorf("it says %q, want 5", c.out)
	}
}

func TestMigrateJSONHasItsDocumentedNames(t *testing.T) {
	t.Parallel()
	db := empty(t)
	for _, step := range []struct {
		args []string
		want string
	}{
		{[]string{"version"}, `{"version":0,"dirty":false,"newest":5,"pending":[{"version":1,"name":"keys"},{"version":2,"name":"steps"},{"version":3,"name":"operators"},{"version":4,"name":"answer"},{"version":5,"name":"possible_key"}]}`},
		{[]string{"up"}, `{"from":0,"to":5,"applied":[{"version":1,"name":"keys"},{"version":2,"name":"steps"},{"version":3,"name":"operators"},{"version":4,"name":"answer"},{"version":5,"name":"possible_key"}]}`},
		{[]string{"up"}, `{"from":5,"to":5,"applied":[]}`},
		{[]string{"version"}, `{"version":5,"dirty":false,"newest":5,"pending":[]}`},
		{[]string{"down"}, `{"from":5,"to":4,"reverted":[{"version":5,"name":"possible_key"}]}`},
		{[]string{"down", "--all", "--yes"}, `{"from":4,"to":0,"reverted":[{"version":4,"name":"answer"},{"version":3,"name":"operators"},{"version":2,"name":"steps"},{"version":1,"name":"keys"}]}`},
		{[]string{"down"}, `{"from":0,"to":0,"reverted":[]}`},
	} {
		c := cli(t, db.url, append(append([]string{"migrate"}, step.args...), "--json")...)
		if c.want(t, 0); c.out != step.want+"\n" {
			t.Errorf("%q writes\n%swant\n%s", step.args, c.out, step.want)
		}
	}
}

func TestFailedMigrationStillWritesItsJSON(t *testing.T) {
	t.Parallel()
	db := empty(t)
	failSecond(t, db)
	var got upReport
	c := cli(t, db.url, "migrate", "up", "--json").want(t, 1)
	if err := json.Unmarshal([]byte(c.out), &got); err != nil || got.To != 1 || len(got.Applied) != 0 {
		t.Errorf("it writes %s (%v), want that it stays at version 1", c.out, err)
	}
}

func TestStockCLIAndIdemLeaveTheSameDatabase(t *testing.T) {
	t.Parallel()
	ours, theirs := empty(t), empty(t)
	cli(t, ours.url, "migrate", "up").want(t, 0)
	theirs.stock(t, "up").want(t, 0)
	if a, b := ours.shape(t), theirs.shape(t); a != b {
		t.Errorf("after idem migrate up:\n%s\nafter migrate up:\n%s", a, b)
	}
	ours.wantAt(t, theirs.record(t), "5")
}

func TestStockCLIAndIdemGoOnWhereTheOtherStopped(t *testing.T) {
	t.Parallel()
	db := empty(t)
	db.stock(t, "up", "1").want(t, 0)
	cli(t, db.url, "migrate", "up").want(t, 0, "applied 2 steps", "schema idem is at version 5")
	db.stock(t, "down", "4").want(t, 0)
	db.wantAt(t, "1 false", "1")
	cli(t, db.url, "migrate", "down").want(t, 0, "schema idem is gone")
	db.stock(t, "up").want(t, 0)
	cli(t, db.url, "migrate", "up").want(t, 0, "nothing to apply")
	db.stock(t, "up").want(t, 0, "no change")
}

func TestPrintedSQLDoesWhatUpDoes(t *testing.T) {
	t.Parallel()
	byUp, byHand, byParts := empty(t), empty(t), empty(t)
	cli(t, byUp.url, "migrate", "up").want(t, 0)
	want := byUp.shape(t)

	byHand.exec(t, cli(t, "", "migrate", "print").want(t, 0).out)
	byHand.wantAt(t, "5 false", "5")
	if got := byHand.shape(t); got != want {
		t.Errorf("the printed SQL makes\n%s\nwant\n%s", got, want)
	}
	cli(t, byHand.url, "migrate", "up").want(t, 0, "nothing to apply")

	byParts.stock(t, "up", "1").want(t, 0)
	byParts.exec(t, cli(t, "", "migrate", "print", "--from", "1").want(t, 0).out)
	if got := byParts.shape(t); got != want {
		t.Errorf("the printed SQL makes of version 1\n%s\nwant\n%s", got, want)
	}
	if c := cli(t, "", "migrate", "print", "--from", "5").want(t, 0); c.out != "-- Nothing is pending.\n" {
		t.Errorf("beyond the newest version it prints %q", c.out)
	}
	cli(t, "", "migrate", "print", "--from", "6").want(t, 2, "--from")
	cli(t, "", "migrate", "print", "--from", "-1").want(t, 2, "--from")
}

// A whole file is one implicit transaction only if it is one message of the simple protocol: the server says so.
func TestEachFileIsOneTransaction(t *testing.T) {
	t.Parallel()
	db := empty(t)
	all, err := embedded()
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range all {
		var failure *pgconn.PgError
		_, err := db.conn.Exec(t.Context(), one.up+"\nSELECT 1/0;", pgx.QueryExecModeSimpleProtocol)
		if !asPgError(err, &failure) || failure.Code != "22012" {
			t.Fatalf("%s with a division by zero behind it: %v", one.path(), err)
		}
		if objects := db.text(t, "SELECT count(*) FROM pg_class WHERE relnamespace = to_regnamespace('idem')"); one.Version == 1 && objects != "0" {
			t.Errorf("%s leaves %s objects behind when its end fails", one.path(), objects)
		}
		if one.Version > 1 {
			if got := db.text(t, "idem.schema_version()"); strings.Contains(one.up, "SELECT "+got) {
				t.Errorf("%s leaves version %s behind when its end fails", one.path(), got)
			}
		}
		db.exec(t, one.up)
	}
}
