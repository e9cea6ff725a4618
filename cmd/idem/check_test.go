package main

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/internal/testdb"
)

func TestCheckOfASoundSetUpIsOK(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	cli(t, db.url, "check").want(t, 0, "ok: the protocol can run in this database\n")
	if c := cli(t, db.url, "check", "--json").want(t, 0); c.out != `{"ok":true,"findings":[]}`+"\n" {
		t.Errorf("it writes %s", c.out)
	}
}

func TestCheckWithoutTheSchemaNamesTheCure(t *testing.T) {
	t.Parallel()
	db := empty(t)
	c := cli(t, db.url, "check").want(t, 1, "run idem migrate up", "idem: check: 1 finding\n")
	if strings.Count(c.out, "\n") != 1 {
		t.Errorf("it says %q, want one line", c.out)
	}
	cli(t, db.url, "check", "--json").want(t, 1, `{"ok":false,"findings":["schema idem does not exist: run idem migrate up"]}`)
}

func TestCheckPrintsEachFindingOfTheStoreOnItsOwnLine(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	// The owner's rights can be taken from it.
	db.exec(t, "DO $$BEGIN EXECUTE format('REVOKE INSERT ON idem.keys, idem.steps FROM %I', current_user); END$$")
	url := db.url + "&default_transaction_read_only=on"
	c := cli(t, url, "check").want(t, 1, "default_transaction_read_only", "GRANT INSERT ON idem.keys", "GRANT INSERT ON idem.steps", "idem: check: 3 findings\n")
	store := &idem.Store{Pool: testdb.Pool(t, url, func(c *pgxpool.Config) { c.MaxConns = 1 })}
	t.Cleanup(store.Close)
	if want := store.Check(t.Context()).Error() + "\n"; c.out != want {
		t.Errorf("it prints\n%swant\n%s", c.out, want)
	}
}

func TestCheckThatCannotConnectFails(t *testing.T) {
	t.Parallel()
	c := cli(t, "postgres://nobody@127.0.0.1:1/none", "check", "--json").want(t, 1, "idem: no connection by DATABASE_URL")
	if c.out != "" {
		t.Errorf("it writes a report: %s", c.out)
	}
}
