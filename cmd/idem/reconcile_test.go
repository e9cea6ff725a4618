package main

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/pgidem/pgidem/idem"
)

func TestReconcileFinishesWhatTheCommandFound(t *testing.T) {
	t.Parallel()
	large := bytes.Repeat([]byte("x"), 1<<20+1)
	s := newService(t, migrated(t))
	for name, c := range map[string]struct {
		reply string
		want  idem.Response
	}{
		"a charge": {
			`{"verdict":"found","status":201,"header":{"content-type":["application/json"],"Link":["<a>","<b>"]},"body":"{\"id\":\"ch_1\"}\n","provider_ref":"ch_1"}`,
			idem.Response{Status: 201, Body: []byte(`{"id":"ch_1"}` + "\n"), ProviderRef: "ch_1",
				Header: map[string][]string{"Content-Type": {"application/json"}, "Link": {"<a>", "<b>"}}},
		},
		"a refusal":    {`{"verdict":"found","status":402,"failed":true}`, idem.Response{Status: 402, Failed: true}},
		"every byte":   {`{"verdict":"found","status":200,"body_base64":"` + base64.StdEncoding.EncodeToString([]byte(body)) + `"}`, idem.Response{Status: 200, Body: []byte(body)}},
		"no status":    {`{"verdict":"found","status":0,"provider_ref":"a\u0000b"}`, idem.Response{ProviderRef: "a\uFFFDb"}},
		"white space":  {"\n {\"verdict\" : \"found\",\n\"status\":204, \"body\":null, \"header\":null}\n\n", idem.Response{Status: 204}},
		"a MiB":        {`{"verdict":"found","status":200,"body":"` + string(large[1:]) + `"}`, idem.Response{Status: 200, Body: large[1:]}},
		"above a MiB":  {`{"verdict":"found","status":200,"body":"` + string(large) + `"}`, idem.Response{Status: 200, BodyDropped: true}},
		"above, bytes": {`{"verdict":"found","status":200,"body_base64":"` + base64.StdEncoding.EncodeToString(large) + `"}`, idem.Response{Status: 200, BodyDropped: true}},
	} {
		t.Run(name, func(t *testing.T) {
			s.db.exec(t, "DELETE FROM idem.keys; DELETE FROM idem.audit")
			holder, d := s.lost(t), newDownstream(t)
			d.says(t, "k-1", c.reply)
			got := d.reconcile(t, s.db).want(t, 0)
			if got.out != "found: acme POST /charges k-1\n" || got.err != "" {
				t.Errorf("it says %q and on stderr %q", got.out, got.err)
			}
			wantAnswer(t, s.replay(t, charge), c.want)
			powerless(t, s, holder)
			if got, want := s.db.audit(t), "ada: settle acme POST /charges k-1: reconcile: the command found it"; got != want {
				t.Errorf("the audit says %q, want %q", got, want)
			}
			d.reconcile(t, s.db).want(t, 0)
			if n := len(d.asked(t)); n != 1 {
				t.Errorf("the downstream is asked %d times", n)
			}
		})
	}
}

func TestReconcileGivesBackWhatHasNotHappened(t *testing.T) {
	t.Parallel()
	s, d := newService(t, migrated(t)), newDownstream(t)
	holder := s.lost(t)
	d.says(t, "k-1", `{"verdict":"nothing"}`)
	if c := d.reconcile(t, s.db).want(t, 0); c.out != "nothing: acme POST /charges k-1\n" {
		t.Errorf("it says %q", c.out)
	}
	record, err := s.store.Lookup(t.Context(), charge)
	if err != nil {
		t.Fatal(err)
	}
	if record.State != idem.StateReleased || record.Fence <= holder.Fence() || len(record.Steps) != 1 || record.Steps[0].Name != "reserve" {
		t.Errorf("the key is %s under fence %d after %d, with steps %v", record.State, record.Fence, holder.Fence(), record.Steps)
	}
	powerless(t, s, holder)
	if got, want := s.db.audit(t), "ada: release acme POST /charges k-1: reconcile: the command found nothing"; got != want {
		t.Errorf("the audit says %q, want %q", got, want)
	}
	if next := s.claim(t, charge); next.Attempt() != 3 { // the lost holder, the question, this one
		t.Errorf("the next claim is attempt %d", next.Attempt())
	}
}

func TestReconcileLeavesAPendingKeyAsItIs(t *testing.T) {
	t.Parallel()
	s, d := newService(t, migrated(t)), newDownstream(t)
	holder := s.lost(t)
	d.says(t, "k-1", `{"verdict":"pending"}`)
	before := s.db.text(t, "SELECT fence || ' ' || created_at || ' ' || expires_at FROM idem.keys") + s.db.text(t, "SELECT string_agg(s::text, ' ') FROM idem.steps AS s")
	for range 2 {
		c := d.reconcile(t, s.db).want(t, 1, "idem: 1 key not decided\n")
		if c.out != "pending: acme POST /charges k-1\n" {
			t.Errorf("it says %q", c.out)
		}
	}
	if got := s.db.states(t); got != "k-1 abandoned" {
		t.Errorf("the key is %s", got)
	}
	if after := s.db.text(t, "SELECT fence || ' ' || created_at || ' ' || expires_at FROM idem.keys") +
		s.db.text(t, "SELECT string_agg(s::text, ' ') FROM idem.steps AS s"); after != before || s.db.audit(t) != "" {
		t.Errorf("it was %s and is %s; the audit says %q", before, after, s.db.audit(t))
	}
	if err := holder.Complete(t.Context(), &idem.Response{Status: 201}); err != nil {
		t.Errorf("the old holder comes back and cannot complete: %v", err)
	}
}

func TestReconcileDecidesSomeAndNotOthers(t *testing.T) {
	t.Parallel()
	db, d := migrated(t), newDownstream(t)
	db.insert(t, abandoned("found"), abandoned("nothing"), abandoned("pending"), abandoned("silent"), inFlight("held"), finished("paid"), givenBack("back"))
	db.exec(t, "UPDATE idem.keys SET created_at = created_at - interval '1 hour' * ascii(key)") // s p n f
	for key, reply := range map[string]string{"found": `{"verdict":"found","status":201}`, "nothing": `{"verdict":"nothing"}`, "pending": `{"verdict":"pending"}`} {
		d.says(t, key, reply)
	}
	c := d.reconcile(t, db, "--json").want(t, 1, "idem: 2 keys not decided\n")
	var got []string
	for _, line := range jsonLines(t, c.out) {
		wantNames(t, line, "tenant endpoint key verdict error")
		got = append(got, fmt.Sprint(line["tenant"], " ", line["endpoint"], " ", line["key"], " ", line["verdict"], " ", line["error"]))
	}
	want := []string{"acme POST /charges silent pending the command: exit status 1", "acme POST /charges pending pending <nil>",
		"acme POST /charges nothing nothing <nil>", "acme POST /charges found found <nil>"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("it writes\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if got, want := db.states(t), "back released, found committed, held held, nothing released, paid committed, pending abandoned, silent abandoned"; got != want {
		t.Errorf("the keys are %s, want %s", got, want)
	}
}

func TestReconcileAsksAboutTheKeysThatItIsToldTo(t *testing.T) {
	t.Parallel()
	db, d := migrated(t), newDownstream(t)
	db.insert(t, abandoned("a"), abandoned("b", of("bolt")), abandoned("c", at("POST /refunds")), abandoned("d"))
	db.exec(t, "UPDATE idem.keys SET created_at = created_at - interval '1 hour' * ascii(key)") // the last letter is the oldest
	for _, c := range []struct{ args, keys string }{
		{"--tenant bolt", "b"}, {"--endpoint POST_/refunds", "c"}, {"--tenant acme --limit 2", "d c"}, {"--limit 4", "d c b a"}, {"--limit 1", "d"}, {"--tenant none", ""},
	} {
		before := len(d.asked(t))
		var args []string
		for _, word := range strings.Fields(c.args) {
			args = append(args, strings.ReplaceAll(word, "_", " "))
		}
		got := d.reconcile(t, db, args...)
		var keys []string
		for _, q := range d.asked(t)[before:] {
			keys = append(keys, q["key"].(string))
		}
		if strings.Join(keys, " ") != c.keys {
			t.Errorf("%s asks about %s, want %s", c.args, keys, c.keys)
		}
		if more := strings.Contains(got.err, "there are more; --limit"); more != (c.args == "--tenant acme --limit 2" || c.args == "--limit 1") {
			t.Errorf("%s says %q", c.args, got.err)
		}
		if want := map[bool]int{true: 0, false: 1}[c.keys == ""]; got.code != want || c.keys == "" && got.out+got.err != "" {
			t.Errorf("%s exits with %d and says %q, %q", c.args, got.code, got.out, got.err)
		}
	}
}

func TestReconcileDoesNotAskBeforeSettleHasPassed(t *testing.T) {
	t.Parallel()
	db, d := migrated(t), newDownstream(t)
	db.insert(t, abandoned("k-1")) // its lease ended an hour ago
	d.says(t, "k-1", `{"verdict":"nothing"}`)
	before := db.rows(t)
	if c := d.reconcile(t, db, "--settle", "2h").want(t, 1, "idem: 1 key not decided"); c.out != "too-early: acme POST /charges k-1\n" {
		t.Errorf("it says %q", c.out)
	}
	if db.rows(t) != before || len(d.asked(t)) != 0 {
		t.Error("the key was asked about, or changed")
	}
	d.reconcile(t, db, "--settle", "59m").want(t, 0, "nothing: ")
	db.exec(t, "DELETE FROM idem.keys")
	db.insert(t, abandoned("k-1"))
	db.exec(t, "UPDATE idem.keys SET locked_until = now() - interval '89 seconds'")
	cli(t, db.url, "reconcile", "--exec", d.command()).want(t, 1, "too-early: ")
	db.exec(t, "UPDATE idem.keys SET locked_until = now() - interval '91 seconds'")
	cli(t, db.url, "reconcile", "--exec", d.command()).want(t, 0, "nothing: ")
}

func TestReconcileWithoutWhatItNeedsIsWrongUse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		says string
		args []string
	}{
		{"--exec is missing", nil},
		{"--exec is missing", []string{"--exec", " "}},
		{"--timeout must be above 0", []string{"--exec", "x", "--timeout", "0s"}},
		{"--lease must be at least 1s", []string{"--exec", "x", "--lease", "999ms"}},
		{"--retention must not be below --lease", []string{"--exec", "x", "--retention", "1m", "--lease", "61s"}},
		{"--settle must not be negative", []string{"--exec", "x", "--settle", "-1s"}},
		{"--limit must be between 1 and 100000", []string{"--exec", "x", "--limit", "0"}},
		{"--limit must be between 1 and 100000", []string{"--exec", "x", "--limit", "100001"}},
		{"--as is missing", []string{"--exec", "x", "--as", ""}},
		{"--tenant is empty", []string{"--exec", "x", "--tenant", ""}},
		{"--endpoint is empty", []string{"--exec", "x", "--endpoint", ""}},
		{"--step is empty", []string{"--exec", "x", "--step", ""}},
		{`unexpected argument "k-1"`, []string{"--exec", "x", "k-1"}},
		{"invalid argument", []string{"--exec", "x", "--timeout", "soon"}},
		{"flag needs an argument", []string{"--exec"}},
		{"unknown flag: --reason", []string{"--exec", "x", "--reason", "r"}},
	} {
		if got := cli(t, "postgres://127.0.0.1:1/nowhere", append([]string{"reconcile"}, c.args...)...).want(t, 2, "idem: ", c.says, "usage: idem reconcile"); got.out != "" {
			t.Errorf("%q writes %q to stdout", c.args, got.out)
		}
	}
}
