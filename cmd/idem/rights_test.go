package main

import (
	"strings"
	"testing"

	"github.com/pgidem/pgidem/internal/devpg"
	"github.com/pgidem/pgidem/internal/testdb"
	"github.com/pgidem/pgidem/sql"
)

// The roles of sql/roles.sql, on a server of their own.
func TestCommandsOfOperatorsNeedTheOperatorsRights(t *testing.T) {
	t.Parallel()
	own := testdb.Server(t, devpg.Options{})
	if _, err := own.Pool.Exec(t.Context(), sql.Roles); err != nil {
		t.Fatal(err)
	}
	db := newDatabase(t, own.URL)
	as := func(role string) *testDatabase { return &testDatabase{url: own.URL + "&role=" + role, conn: db.conn} }
	d := newDownstream(t)
	d.says(t, "asked", `{"verdict":"nothing"}`)
	d.says(t, "found", `{"verdict":"found","status":201}`)
	keys := func() {
		db.exec(t, "DELETE FROM idem.keys; DELETE FROM idem.audit")
		db.insert(t, abandoned("settle"), abandoned("release"), abandoned("forget"))
		for _, key := range []string{"settle", "release", "forget"} {
			db.step(t, key, 1, "reserve", "r-1")
			db.step(t, key, 2, "charge", "")
		}
	}

	keys()
	operator := as("idem_operator")
	for name := range operations {
		operate(t, operator, name, name).want(t, 0)
	}
	db.insert(t, abandoned("asked"), abandoned("found"))
	d.reconcile(t, operator).want(t, 0)
	cli(t, operator.url, "list").want(t, 0, "released", "committed")
	cli(t, operator.url, "stats").want(t, 0, "committed  2 ")
	cli(t, operator.url, "show", "--tenant", "acme", "--endpoint", "POST /charges", "release").want(t, 0, "reserve")
	if got, want := db.states(t), "asked released, found committed, release released, settle committed"; got != want {
		t.Errorf("the keys are %s, want %s", got, want)
	}
	if n := strings.Count(db.audit(t), "\n") + 1; n != 5 {
		t.Errorf("the audit has %d rows", n)
	}

	keys()
	before, asked := db.rows(t), len(d.asked(t))
	const cure = "this is work for a member of idem_operator (sql/roles.sql)"
	service := as("idem_app")
	for name := range operations {
		operate(t, service, name, name).want(t, 1, "idem: permission denied for table ", cure)
	}
	d.reconcile(t, service).want(t, 1, "idem: permission denied for table audit", cure)
	cli(t, service.url, "stats").want(t, 1, "idem: permission denied for view overview", cure)
	cli(t, service.url, "list").want(t, 0, "abandoned")
	for _, args := range [][]string{{"list"}, {"stats"}, {"reconcile", "--exec", "true"}} {
		cli(t, own.URL+"&role=pg_monitor", args...).want(t, 1, "idem: permission denied for schema idem", cure)
	}
	if db.rows(t) != before || db.audit(t) != "" || len(d.asked(t)) != asked {
		t.Errorf("something was changed, or asked; the audit says %q", db.audit(t))
	}
}

func TestCommandsOfOperatorsWithoutTheSchemaNameTheCure(t *testing.T) {
	t.Parallel()
	url := testdb.Empty(t)
	var all [][]string
	for name := range operations {
		all = append(all, append(append([]string{}, operations[name]...), "--yes", "k-1"))
	}
	for _, args := range append(all, []string{"list"}, []string{"stats"}, []string{"reconcile", "--exec", "true"}) {
		if c := cli(t, url, args...).want(t, 1, "idem: schema idem is not in this database: run idem migrate up"); c.out != "" {
			t.Errorf("%s writes %q to stdout", args[0], c.out)
		}
	}
}
