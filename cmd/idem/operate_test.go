package main

import (
	"os/user"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// operations are the commands that change one key by hand, with all that they need but --yes.
var operations = map[string][]string{
	"settle":  {"settle", "--tenant", "acme", "--endpoint", "POST /charges", "--status", "201", "--reason", "ticket 4711", "--as", "ada"},
	"release": {"release", "--tenant", "acme", "--endpoint", "POST /charges", "--reason", "ticket 4711", "--as", "ada"},
	"forget":  {"forget", "--tenant", "acme", "--endpoint", "POST /charges", "--reason", "ticket 4711", "--as", "ada"},
}

// operate runs one of them on a key without asking.
func operate(t *testing.T, db *testDatabase, name, key string, more ...string) call {
	t.Helper()
	args := append([]string{}, operations[name]...)
	return cli(t, db.url, append(append(args, "--yes", key), more...)...)
}

// audit is what idem.audit says, a line a row.
func (d *testDatabase) audit(t *testing.T) string {
	t.Helper()
	return d.text(t, `SELECT coalesce(string_agg(format('%s: %s %s %s %s: %s', who, what, tenant_id, endpoint, key, reason), E'\n' ORDER BY id), '')
		FROM idem.audit`)
}

// rows is the whole of every key and step, to see that nothing changed.
func (d *testDatabase) rows(t *testing.T) string {
	t.Helper()
	return d.text(t, `SELECT concat((SELECT string_agg(k::text, E'\n' ORDER BY key) FROM idem.keys AS k),
		(SELECT string_agg(s::text, E'\n' ORDER BY key, position) FROM idem.steps AS s))`)
}

// states are the states of the keys, in the order of their names.
func (d *testDatabase) states(t *testing.T) string {
	t.Helper()
	return d.text(t, `SELECT coalesce(string_agg(key || ' ' || CASE WHEN status <> 'in_flight' THEN status
		WHEN locked_until > statement_timestamp() THEN 'held' ELSE 'abandoned' END, ', ' ORDER BY key), '') FROM idem.keys`)
}

// step writes a step; an output of "" is none: it began and was not recorded.
func (d *testDatabase) step(t *testing.T, key string, position int, name, output string) {
	t.Helper()
	_, err := d.conn.Exec(t.Context(), `
		INSERT INTO idem.steps (begun_at, finished_at, position, tenant_id, endpoint, key, name, output)
		VALUES (now(), CASE WHEN $4 <> '' THEN now() END, $1, 'acme', 'POST /charges', $2, $3, nullif(convert_to($4, 'UTF8'), ''))`,
		position, key, name, output)
	if err != nil {
		t.Fatal(err)
	}
}

func TestOperationsLeaveARowInTheAuditThatSaysWhoWhatAndWhy(t *testing.T) {
	t.Parallel()
	for name, left := range map[string]string{
		"settle": "k-1 committed, k-2 abandoned, k-3 abandoned", "release": "k-1 released, k-2 abandoned, k-3 abandoned", "forget": "k-2 abandoned, k-3 abandoned",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := migrated(t)
			db.insert(t, abandoned("k-1"), abandoned("k-2"), abandoned("k-3"), abandoned("k-1", of("bolt")), abandoned("k-1", at("POST /refunds")))
			others := db.text(t, "SELECT string_agg(k::text, ' ' ORDER BY tenant_id, endpoint) FROM idem.keys AS k WHERE (tenant_id, endpoint) <> ('acme', 'POST /charges')")
			c := operate(t, db, name, "k-1").want(t, 0)
			if want := map[string]string{"settle": "settled", "release": "released", "forget": "forgot"}[name] + " k-1\n"; c.out != want || c.err != "" {
				t.Errorf("it says %q and on stderr %q, want %q", c.out, c.err, want)
			}
			if got, want := db.audit(t), "ada: "+name+" acme POST /charges k-1: ticket 4711"; got != want {
				t.Errorf("the audit says %q, want %q", got, want)
			}
			if got := db.text(t, "SELECT now() - at < interval '1 hour' FROM idem.audit"); got != "true" {
				t.Error("the audit's time is not the database's")
			}
			if db.text(t, "SELECT string_agg(k::text, ' ' ORDER BY tenant_id, endpoint) FROM idem.keys AS k WHERE (tenant_id, endpoint) <> ('acme', 'POST /charges')") != others {
				t.Error("a key of the same name was changed, too")
			}
			db.exec(t, "DELETE FROM idem.keys WHERE (tenant_id, endpoint) <> ('acme', 'POST /charges')")
			if got := db.states(t); got != left {
				t.Errorf("the keys are %s, want %s", got, left)
			}
		})
	}
}

func TestOperationsNameTheAccountThatRunsThem(t *testing.T) {
	t.Parallel()
	account, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	db := migrated(t)
	db.insert(t, abandoned("k-1"))
	cli(t, db.url, "release", "--tenant", "acme", "--endpoint", "POST /charges", "--reason", "r", "--yes", "k-1").want(t, 0)
	if got, want := db.audit(t), account.Username+": release "; !strings.HasPrefix(got, want) {
		t.Errorf("the audit says %q, want %q", got, want)
	}
}

func TestOperationsRefuseWhatTheyAreNotFor(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	db.insert(t, inFlight("held"), finished("paid"), refused("declined"), givenBack("back"), finished("shared", at("*")))
	before := db.rows(t)
	for _, c := range []struct{ name, key, says string }{
		{"settle", "held", "the key is held until "}, {"release", "held", "the key is held until "}, {"forget", "held", "the key is held until "},
		{"settle", "paid", "the key is committed already: nothing was changed"}, {"settle", "declined", "the key is failed already: nothing was changed"},
		{"release", "paid", "the key is committed, and only an abandoned key can be given back: nothing was changed"},
		{"release", "declined", "the key is failed, and only"}, {"release", "back", "the key is released, and only"},
		{"settle", "shared", `idem: tenant "acme" has no such key at endpoint "POST /charges"; a key of the whole tenant is at --endpoint '*'`},
		{"release", "none", `idem: tenant "acme" has no such key`}, {"forget", "none", `idem: tenant "acme" has no such key`},
	} {
		got := operate(t, db, c.name, c.key).want(t, 1, c.says)
		if got.out != "" {
			t.Errorf("%s %s says %q", c.name, c.key, got.out)
		}
	}
	if db.rows(t) != before || db.audit(t) != "" {
		t.Errorf("something was changed: %s", db.audit(t))
	}
}

// What is not given stops the command before it connects: there is no database.
func TestOperationsWithoutWhatTheyNeedAreWrongUse(t *testing.T) {
	t.Parallel()
	without := func(name, flag string) []string {
		var args []string
		for i := 0; i < len(operations[name]); i++ {
			if operations[name][i] == flag {
				i++
				continue
			}
			args = append(args, operations[name][i])
		}
		return args
	}
	for name := range operations {
		whole, with := without(name, ""), slices.Concat[[]string]
		for _, c := range []struct {
			says string
			args []string
		}{
			{"--tenant is missing", with(without(name, "--tenant"), []string{"--yes", "k"})},
			{"--endpoint is missing", with(without(name, "--endpoint"), []string{"--yes", "k"})},
			{"--reason is missing", with(without(name, "--reason"), []string{"--yes", "k"})},
			{"--tenant is missing", with(whole, []string{"--tenant", "", "--yes", "k"})},
			{"--endpoint is missing", with(whole, []string{"--endpoint", "", "--yes", "k"})},
			{"--reason is missing", with(whole, []string{"--reason", " \t", "--yes", "k"})},
			{"--as is missing", with(whole, []string{"--as", " ", "--yes", "k"})},
			{"--yes is missing: there is no terminal to ask at", with(whole, []string{"k"})},
			{"KEY is missing", with(whole, []string{"--yes"})},
			{`unexpected argument "k2"`, with(whole, []string{"--yes", "k", "k2"})},
			{"KEY has 0 bytes", with(whole, []string{"--yes", ""})},
			{"KEY has 256 bytes", with(whole, []string{"--yes", strings.Repeat("k", 256)})},
			{"not UTF-8", with(whole, []string{"--yes", "k\xff"})},
			{"not UTF-8", with(whole, []string{"--reason", "r\xff", "--yes", "k"})},
			{"unknown flag: --force", with(whole, []string{"--force", "k"})},
			{"flag needs an argument: --reason", with(without(name, "--reason"), []string{"k", "--reason"})},
		} {
			got := cli(t, "postgres://127.0.0.1:1/nowhere", c.args...).want(t, 2, "idem: ", c.says, "usage: idem "+name, "See idem "+name+" --help.")
			if got.out != "" {
				t.Errorf("%q writes %q to stdout", c.args, got.out)
			}
		}
	}
}

func TestOperationsMakeHostileTextSafe(t *testing.T) {
	t.Parallel()
	const key, shown = "k\x1b[2J\n\u202e1", "k\uFFFD[2J\uFFFD\uFFFD1"
	db := migrated(t)
	for name := range operations {
		db.exec(t, "DELETE FROM idem.keys")
		db.insert(t, abandoned(key))
		c := operate(t, db, name, key).want(t, 0, shown+"\n")
		if strings.ContainsAny(c.out+c.err, "\x1b\u202e") {
			t.Errorf("%s writes %q", name, c.out+c.err)
		}
	}
	c := cli(t, db.url, "forget", "--tenant", "a\x1b[2J", "--endpoint", "e\x1b[2J", "--reason", "r", "--yes", key).want(t, 1, "no such key")
	if strings.ContainsAny(c.out+c.err, "\x1b\u202e") || strings.Contains(c.err, "k\uFFFD") {
		t.Errorf("it writes %q", c.out+c.err)
	}
}

func TestOperationsOfAReleasedOrFinishedKey(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	db.insert(t, givenBack("back"), givenBack("gone"), finished("paid"), refused("declined"))
	operate(t, db, "settle", "back", "--failed").want(t, 0)
	for _, key := range []string{"gone", "paid", "declined"} {
		operate(t, db, "forget", key).want(t, 0)
	}
	if got := db.states(t); got != "back failed" {
		t.Errorf("the keys are %s", got)
	}
}

func TestInterruptWhileItIsDoneSaysToLookAgain(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	db.insert(t, abandoned("k-1"))
	other := newDatabase(t, db.url)
	for name := range operations {
		db.exec(t, "BEGIN; SELECT FROM idem.keys FOR UPDATE")
		p := start(t, db.url, slices.Concat(operations[name], []string{"--yes", "k-1"})...)
		p.until(t, "it waits for the row", func() bool {
			return other.text(t, "SELECT count(*) FROM pg_locks WHERE NOT granted AND pid IN (SELECT pid FROM pg_stat_activity WHERE datname = current_database())") == "1"
		})
		p.signal(t, syscall.SIGINT)
		p.wait(t).want(t, 1, "idem: interrupted while it was being done: look whether it was\n")
		db.exec(t, "COMMIT; DELETE FROM idem.keys")
		db.insert(t, abandoned("k-1"))
	}
}
