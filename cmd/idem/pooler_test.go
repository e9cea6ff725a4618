package main

import (
	"testing"

	"github.com/pgidem/pgidem/internal/pgbouncer"
)

func TestMigratingThroughAPoolerIsRefused(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{"up": {"up"}, "down": {"down"}, "down all": {"down", "--all", "--yes"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := empty(t)
			if args[0] == "down" {
				cli(t, db.url, "migrate", "up").want(t, 0)
			}
			record := db.record(t)
			actual := map[string]string{"none": "0", "5 false": "5"}[record]
			url, _ := pgbouncer.Start(t, db.url, pgbouncer.Options{})
			for range 2 {
				cli(t, url, append([]string{"migrate"}, args...)...).want(t, 1, "a pooler", "nothing was changed", "Connect to the server directly")
			}
			db.wantAt(t, record, actual)
		})
	}
}

func TestReadingAndSweepingGoThroughAPooler(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	db.insert(t, finished("paid"), finished("old", expired))
	url, _ := pgbouncer.Start(t, db.url, pgbouncer.Options{PoolSize: 1})
	for range 2 {
		cli(t, url, "migrate", "version").want(t, 0, "5\n")
		cli(t, url, "show", "--tenant", "acme", "--endpoint", "POST /charges", "paid").want(t, 0, "committed")
	}
	cli(t, url, "sweep").want(t, 0, "deleted 1 key in ")
	cli(t, url, "sweep").want(t, 0, "deleted 0 keys in ")
}

func TestOperatingGoesThroughAPooler(t *testing.T) {
	t.Parallel()
	db, d := migrated(t), newDownstream(t)
	url, _ := pgbouncer.Start(t, db.url, pgbouncer.Options{PoolSize: 2})
	d.says(t, "found", `{"verdict":"found","status":201}`)
	d.says(t, "nothing", `{"verdict":"nothing"}`)
	for _, mode := range []string{"", "", "&default_query_exec_mode=simple_protocol", "&default_query_exec_mode=cache_statement"} {
		pooled := &testDatabase{url + mode, db.conn}
		db.exec(t, "DELETE FROM idem.keys; DELETE FROM idem.audit")
		db.insert(t, abandoned("settle"), abandoned("release"), abandoned("forget"))
		for name := range operations {
			operate(t, pooled, name, name).want(t, 0)
		}
		db.insert(t, abandoned("found"), abandoned("nothing"))
		d.reconcile(t, pooled).want(t, 0, "found: ", "nothing: ")
		cli(t, url, "list").want(t, 0, "committed", "released")
		cli(t, url, "stats").want(t, 0, "committed  2 ")
		if got, want := db.states(t), "found committed, nothing released, release released, settle committed"; got != want {
			t.Errorf("the keys are %s, want %s", got, want)
		}
	}
}

func TestCheckFindsThePooler(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	url, _ := pgbouncer.Start(t, db.url, pgbouncer.Options{})
	for range 2 { // the second meets the prepared statements of the first
		cli(t, url+"&default_query_exec_mode=cache_statement", "check").want(t, 1, "default_query_exec_mode=exec")
	}
	cli(t, url+"&default_query_exec_mode=exec", "check").want(t, 0, "ok: ")
}
