package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// keysListed runs idem list and returns the keys in its lines, in order.
func keysListed(t *testing.T, db *testDatabase, args ...string) string {
	t.Helper()
	var keys []string
	for _, line := range jsonLines(t, cli(t, db.url, append([]string{"list", "--json"}, args...)...).want(t, 0).out) {
		keys = append(keys, line["key"].(string))
	}
	return strings.Join(keys, " ")
}

func TestListShowsWhatIsUnresolvedFirst(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	steps := func(r *row) { r.leased = true }
	db.insert(t, finished("paid", old(9*time.Hour)), abandoned("lost-young", old(time.Hour)), refused("declined", old(time.Hour)),
		inFlight("held", old(4*time.Hour)), givenBack("back", old(8*time.Hour)), givenBack("back-with-steps", old(3*time.Hour), steps),
		abandoned("lost-old", old(2*time.Hour)), abandoned("lost-bolt", old(3*time.Hour), of("bolt")), abandoned("lost-refund", at("POST /refunds")))
	for args, want := range map[string]string{
		"":                                 "lost-bolt lost-old lost-young lost-refund held back-with-steps paid back declined",
		"--state abandoned":                "lost-bolt lost-old lost-young lost-refund",
		"--state held":                     "held",
		"--state released":                 "back-with-steps back",
		"--state committed":                "paid",
		"--state failed":                   "declined",
		"--tenant bolt":                    "lost-bolt",
		"--tenant none":                    "",
		"--older 150m":                     "lost-bolt held back-with-steps paid back",
		"--state abandoned --older 90m":    "lost-bolt lost-old",
		"--state abandoned --tenant acme":  "lost-old lost-young lost-refund",
		"--state committed --older 10h":    "",
		"--state abandoned --limit 100000": "lost-bolt lost-old lost-young lost-refund",
	} {
		if got := keysListed(t, db, strings.Fields(args)...); got != want {
			t.Errorf("list %s lists %s, want %s", args, got, want)
		}
	}
	if got := keysListed(t, db, "--endpoint", "POST /refunds"); got != "lost-refund" {
		t.Errorf("of one endpoint it lists %s", got)
	}
}

func TestListSaysThatItsLimitWasReached(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	db.insert(t, abandoned("a", old(2*time.Hour)), abandoned("b", old(time.Hour)), finished("c"))
	for limit, want := range map[int]struct {
		keys string
		more bool
	}{1: {"a", true}, 2: {"a b", true}, 3: {"a b c", false}, 4: {"a b c", false}} {
		c := cli(t, db.url, "list", "--json", "--limit", fmt.Sprint(limit)).want(t, 0)
		var keys []string
		for _, line := range jsonLines(t, c.out) {
			keys = append(keys, line["key"].(string))
		}
		said := fmt.Sprintf("idem: there are more; --limit %d was reached\n", limit)
		if got := strings.Join(keys, " "); got != want.keys || (c.err == said) != want.more || !want.more && c.err != "" {
			t.Errorf("--limit %d lists %s and says %q", limit, got, c.err)
		}
	}
}

func TestListIsATableForPeople(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	if c := cli(t, db.url, "list").want(t, 0); c.out != "no such key\n" {
		t.Errorf("of an empty table it says %q", c.out)
	}
	db.insert(t, abandoned("k\x1b[2J\n\t\u202e1"), finished("k-2"))
	c := cli(t, db.url, "list").want(t, 0)
	lines := strings.Split(strings.TrimSuffix(c.out, "\n"), "\n")
	if len(lines) != 3 || strings.ContainsAny(c.out, "\x1b\t\u202e") {
		t.Fatalf("it writes %q", c.out)
	}
	columns := func(line string) []string {
		return slices.DeleteFunc(strings.Split(line, "  "), func(s string) bool { return strings.TrimSpace(s) == "" })
	}
	for i, want := range []string{
		"STATE,TENANT,ENDPOINT,KEY,ATTEMPTS,CREATED,LOCKED UNTIL,STATUS",
		"abandoned,acme,POST /charges,k\uFFFD[2J\uFFFD\uFFFD\uFFFD1,2,*,*,-",
		"committed,acme,POST /charges,k-2,2,*,-,201",
	} {
		got := columns(lines[i])
		for at, word := range strings.Split(want, ",") {
			if at >= len(got) || word != "*" && strings.TrimSpace(got[at]) != word || word == "*" && !strings.HasSuffix(got[at], " UTC") {
				t.Errorf("line %d is %q, want %s", i, lines[i], want)
				break
			}
		}
	}
}

func TestListJSONHasItsDocumentedNames(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	db.insert(t, abandoned("k\x1b\n1"), finished("k-2"))
	db.exec(t, "UPDATE idem.keys SET handler = 'charge'")
	lines := jsonLines(t, cli(t, db.url, "list", "--json").want(t, 0).out)
	if len(lines) != 2 {
		t.Fatalf("%d lines", len(lines))
	}
	for _, line := range lines {
		wantNames(t, line, "tenant endpoint key state attempts created_at claimed_at locked_until completed_at status handler provider_ref")
	}
	lost, paid := lines[0], lines[1]
	if lost["key"] != "k\x1b\n1" || lost["state"] != "abandoned" || lost["locked_until"] == nil || lost["completed_at"] != nil || lost["status"] != nil ||
		lost["provider_ref"] != "" || lost["handler"] != "charge" || lost["attempts"] != 2. || lost["tenant"] != "acme" || lost["endpoint"] != "POST /charges" {
		t.Errorf("the abandoned key is %v", lost)
	}
	if paid["state"] != "committed" || paid["locked_until"] != nil || paid["completed_at"] == nil || paid["status"] != 201. ||
		paid["provider_ref"] != "ch_1" || paid["handler"] != "charge" {
		t.Errorf("the finished key is %v", paid)
	}
	if c := cli(t, db.url, "list", "--json", "--tenant", "none").want(t, 0); c.out != "" {
		t.Errorf("of no key it writes %q", c.out)
	}
}

func TestListRefusesBadValues(t *testing.T) {
	t.Parallel()
	for says, args := range map[string][]string{
		"--state is abandoned, held, released, committed or failed": {"--state", "in_flight"},
		"--limit must be between 1 and 100000":                      {"--limit", "0"},
		"--limit must be between 1 and 100000 ":                     {"--limit", "100001"},
		"--older must not be negative":                              {"--older", "-1s"},
		"--state is empty":                                          {"--state", ""},
		"--tenant is empty":                                         {"--tenant", ""},
		"--endpoint is empty":                                       {"--endpoint="},
		"invalid argument":                                          {"--older", "long"},
		`unexpected argument "k-1"`:                                 {"k-1"},
		"unknown flag: --key":                                       {"--key", "k"},
	} {
		if c := cli(t, "postgres://127.0.0.1:1/nowhere", append([]string{"list"}, args...)...).want(t, 2, strings.TrimSpace(says), "usage: idem list"); c.out != "" {
			t.Errorf("%q writes %q to stdout", args, c.out)
		}
	}
}
