package main

import (
	"encoding/base64"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const body = "paid\x00\xff\x1b[2j\n"

func TestShowSaysAllOfAFinishedKey(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	db.insert(t, finished("k-1"))
	c := cli(t, db.url, "show", "--tenant", "acme", "--endpoint", "POST /charges", "k-1").want(t, 0)
	got := map[string][]string{}
	for line := range strings.Lines(c.out) {
		name, value, _ := strings.Cut(line, "  ")
		got[name] = append(got[name], strings.TrimSpace(value))
	}
	for name, want := range map[string]string{
		"tenant": "acme", "endpoint": "POST /charges", "key": "k-1", "state": "committed", "fence": "7", "attempts": "2",
		"fingerprint": "01abcd", "locked until": "-", "status": "201", "provider ref": "ch_1",
		"header": "Content-Type: text/plain, Link: <a>, Link: <b>", "body": "11 bytes",
	} {
		if strings.Join(got[name], ", ") != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
	for _, name := range []string{"created", "claimed", "completed", "expires"} {
		if len(got[name]) != 1 || !strings.HasSuffix(got[name][0], " UTC") {
			t.Errorf("%s is %q, want a time", name, got[name])
		}
	}
	if strings.Contains(c.out, "paid") {
		t.Error("it writes the body unasked")
	}
}

func TestShowWritesTheBodyByteForByte(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	db.insert(t, finished("k-1"), inFlight("k-2"))
	c := cli(t, db.url, "show", "--tenant", "acme", "--endpoint", "POST /charges", "--body", "k-1").want(t, 0)
	if _, got, _ := strings.Cut(c.out, "\n\n"); got != body {
		t.Errorf("the body is %q, want %q", got, body)
	}
	cli(t, db.url, "show", "--tenant", "acme", "--endpoint", "POST /charges", "--body", "k-2").want(t, 0, "held")
}

func TestShowSaysAbandonedFromHeld(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	db.insert(t, inFlight("a"), abandoned("b"))
	for key, state := range map[string]string{"a": "held", "b": "abandoned"} {
		c := cli(t, db.url, "show", "--tenant", "acme", "--endpoint", "POST /charges", key).want(t, 0, state)
		if strings.Contains(c.out, "status") || strings.Contains(c.out, "body") {
			t.Errorf("an unfinished key has an answer:\n%s", c.out)
		}
	}
}

func TestShowJSONHasItsDocumentedNames(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	db.insert(t, finished("k-1"), abandoned("k-2"))
	db.step(t, "k-2", 1, "reserve", "r-1")
	db.step(t, "k-2", 2, "charge", "")
	call := func(args ...string) map[string]any {
		lines := jsonLines(t, cli(t, db.url, append([]string{"show", "--tenant", "acme", "--endpoint", "POST /charges", "--json"}, args...)...).want(t, 0).out)
		if len(lines) != 1 {
			t.Fatalf("%d lines", len(lines))
		}
		wantNames(t, lines[0], "tenant endpoint key state fence attempts handler fingerprint created_at claimed_at locked_until completed_at "+
			"expires_at steps response")
		return lines[0]
	}
	paid := call("k-1")
	wantNames(t, paid["response"], "status failed provider_ref header body_kept body_bytes")
	if steps, ok := paid["steps"].([]any); !ok || len(steps) != 0 {
		t.Errorf("its steps are %v", paid["steps"])
	}
	withBody := call("k-1", "--body")["response"].(map[string]any)
	if want := base64.StdEncoding.EncodeToString([]byte(body)); withBody["body_base64"] != want {
		t.Errorf("the body is %v, want %v", withBody["body_base64"], want)
	}
	lost := call("k-2")
	if lost["response"] != nil || lost["completed_at"] != nil || lost["locked_until"] == nil {
		t.Errorf("an abandoned key is %v", lost)
	}
	var steps []string
	for _, step := range lost["steps"].([]any) {
		wantNames(t, step, "name begun_at finished_at output_base64")
		one := step.(map[string]any)
		steps = append(steps, fmt.Sprint(one["name"], " ", one["begun_at"] != nil, " ", one["finished_at"] != nil, " ", one["output_base64"]))
	}
	if want := "reserve true true ci0x, charge true false <nil>"; strings.Join(steps, ", ") != want {
		t.Errorf("the steps are %s, want %s", steps, want)
	}
}

func TestShowSaysWhichStepsAreRecordedAndWhichInDoubt(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	db.insert(t, abandoned("k-1"), abandoned("k-2"))
	for position, name := range []string{"reserve", "charge", "zeta", "alpha\x1b[2J\u202e"} { // in the order in which they run
		db.step(t, "k-1", position+1, name, map[bool]string{true: "r", false: ""}[position < 3])
	}
	db.step(t, "k-2", 1, "another", "key's")
	c := cli(t, db.url, "show", "--tenant", "acme", "--endpoint", "POST /charges", "k-1").want(t, 0)
	var got []string
	for line := range strings.Lines(c.out) {
		if step, ok := strings.CutPrefix(line, "step "); ok {
			got = append(got, regexp.MustCompile(`2[0-9-]+ [0-9:.]+ UTC`).ReplaceAllString(strings.TrimSpace(step), "T"))
		}
	}
	want := []string{"reserve: recorded T, 1 byte", "charge: recorded T, 1 byte", "zeta: recorded T, 1 byte", "alpha\uFFFD[2J\uFFFD: begun T, outcome unknown"}
	if !slices.Equal(got, want) {
		t.Errorf("the steps are %q, want %q", got, want)
	}
}

func TestShowFindsAKeyOfTheWholeTenant(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	db.insert(t, finished("k-1", at("*")))
	cli(t, db.url, "show", "--tenant", "acme", "--endpoint", "POST /charges", "k-1").want(t, 1, "--endpoint '*'")
	cli(t, db.url, "show", "--tenant", "acme", "--endpoint", "*", "k-1").want(t, 0, "committed")
}

func TestShowOfAnUnknownKeyFails(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	db.insert(t, finished("k-1"), finished("k-2", of("bolt")))
	c := cli(t, db.url, "show", "--tenant", "acme", "--endpoint", "POST /charges", "k-2").want(t, 1, `idem: tenant "acme" has no such key at endpoint "POST /charges"`)
	if c.out != "" || strings.Contains(c.err, "k-2") {
		t.Errorf("it says %q and %q; keys are secrets of their clients", c.out, c.err)
	}
}

func TestShowAndSweepWithoutTheSchemaNameTheCure(t *testing.T) {
	t.Parallel()
	db := empty(t)
	for _, args := range [][]string{{"show", "--tenant", "acme", "--endpoint", "x", "k-1"}, {"sweep"}, {"sweep", "--dry-run"}} {
		cli(t, db.url, args...).want(t, 1, "idem: schema idem is not in this database: run idem migrate up")
	}
}

func TestShowWithoutItsArgumentsIsWrongUse(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	for _, c := range []struct {
		says string
		args []string
	}{
		{"KEY is missing", []string{"--tenant", "acme", "--endpoint", "x"}},
		{`unexpected argument "b"`, []string{"--tenant", "acme", "--endpoint", "x", "a", "b"}},
		{"--tenant is missing", []string{"--endpoint", "x", "a"}},
		{"--endpoint is missing", []string{"--tenant", "acme", "a"}},
		{"255", []string{"--tenant", "acme", "--endpoint", "x", strings.Repeat("a", 256)}},
		{"ID is empty", []string{"--tenant", "acme", "--endpoint", "x", ""}},
	} {
		cli(t, db.url, append([]string{"show"}, c.args...)...).want(t, 2, c.says, "usage: idem show")
	}
}

func TestShowWritesNoControlCharactersIntoTheTable(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	db.insert(t, finished("k\x1b[2J\n1"))
	c := cli(t, db.url, "show", "--tenant", "acme", "--endpoint", "POST /charges", "k\x1b[2J\n1").want(t, 0)
	if strings.ContainsAny(c.out, "\x1b") {
		t.Errorf("it writes %q", c.out)
	}
}
