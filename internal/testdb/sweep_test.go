package testdb

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
)

func TestDatabasesOfKilledRunsAreDroppedByTheNext(t *testing.T) {
	t.Parallel()
	server, conn := admin(t)
	killed, abandoned, _ := hold(t, server.URL())
	if err := killed.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = killed.Wait() // killed
	_, alive, end := hold(t, server.URL())
	if out, err := output(t, child(server.URL(), "pass")); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	names := databases(t, conn)
	if slices.Contains(names, abandoned) {
		t.Error("the killed run's database is still there")
	}
	if !slices.Contains(names, alive) {
		t.Error("the live run's database is gone")
	}
	if err := end(); err != nil {
		t.Errorf("the live run: %v", err)
	}
	if names := databases(t, conn); len(names) != 1 {
		t.Errorf("in the end there is more than the template: %s", names)
	}
}

func TestFailedTestsDatabaseIsKeptForADay(t *testing.T) {
	t.Parallel()
	server, conn := admin(t)
	out, err := output(t, child(server.URL(), "fail"))
	kept := databaseOf(t, out)
	if err == nil || !strings.Contains(out, "kept for a day: postgres://") || !strings.Contains(out, kept+"?") {
		t.Errorf("the log does not say where the database is (%v):\n%s", err, out)
	}
	next := func() []string {
		if out, err := output(t, child(server.URL(), "pass")); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return databases(t, conn)
	}
	if !slices.Contains(next(), kept) {
		t.Error("the next run drops it")
	}
	age(t, conn, kept, keptSignature, "23 hours")
	if !slices.Contains(next(), kept) {
		t.Error("it is dropped within a day")
	}
	age(t, conn, kept, keptSignature, "25 hours")
	if slices.Contains(next(), kept) {
		t.Error("it is not dropped after a day")
	}
}

func TestOnlyOurUnusedDatabasesAreSwept(t *testing.T) {
	t.Parallel()
	server, conn := admin(t)
	if out, err := output(t, child(server.URL(), "pass")); err != nil { // makes the role
		t.Fatalf("%v\n%s", err, out)
	}
	create := func(name, owner string) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), "CREATE DATABASE "+name+" OWNER "+owner); err != nil {
			t.Fatal(err)
		}
	}
	create("testdb_tpl_half", role)               // its maker was killed
	create("testdb_tpl_old", role)                // a template of an old schema
	create("testdb_tpl_recent", role)             // a template of another branch
	create("testdb_tpl_other_inst_x", "postgres") // of another user of pgtestdb
	create("mine", role)
	if _, err := conn.Exec(t.Context(), "ALTER DATABASE testdb_tpl_old IS_TEMPLATE true"); err != nil {
		t.Fatal(err)
	}
	age(t, conn, "testdb_tpl_old", templateSignature, "2 days")
	age(t, conn, "testdb_tpl_recent", templateSignature, "2 hours")
	if out, err := output(t, child(server.URL(), "pass")); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	names := databases(t, conn)
	for name, want := range map[string]bool{
		"testdb_tpl_half": false, "testdb_tpl_old": false,
		"testdb_tpl_recent": true, "testdb_tpl_other_inst_x": true,
	} {
		if got := slices.Contains(names, name); got != want {
			t.Errorf("%s is there: %t, want %t", name, got, want)
		}
	}
	var mine bool
	if err := conn.QueryRow(t.Context(), "SELECT EXISTS (SELECT FROM pg_database WHERE datname = 'mine')").Scan(&mine); err != nil || !mine {
		t.Errorf("a database of another name is gone (%v)", err)
	}
}

func TestManyProcessesShareAServer(t *testing.T) {
	t.Parallel()
	server, conn := admin(t)
	var processes sync.WaitGroup
	for range 8 {
		processes.Go(func() {
			if out, err := output(t, child(server.URL(), "pass")); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
	processes.Wait()
	if names := databases(t, conn); len(names) != 1 {
		t.Errorf("in the end there is more than one template: %s", names)
	}
}

// age signs a database as of some time ago.
func age(t *testing.T, conn *pgx.Conn, database, signature, ago string) {
	t.Helper()
	r := &run{conn: conn}
	if err := r.comment(context.Background(), database, signature, "(now() - interval '"+ago+"')"); err != nil {
		t.Fatal(err)
	}
}
