package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/pgidem/pgidem/idem"
)

// A holder that was given up comes back while the command asks: its answer stands, whatever the command says.
func TestAnswerOfTheOldHolderStandsWhileItIsAskedAbout(t *testing.T) {
	t.Parallel()
	for name, reply := range map[string]string{
		"found": `{"verdict":"found","status":200,"body":"asked"}`, "nothing": `{"verdict":"nothing"}`, "pending": `{"verdict":"pending"}`, "garbage": `?`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, d := newService(t, migrated(t)), newDownstream(t)
			holder := s.lost(t)
			answer := d.waits(t, "k-1")
			p := d.startAsking(t, s.db, 1, "--json")
			if err := holder.Extend(t.Context()); err == nil {
				t.Error("the old holder extends a lease that it has lost")
			}
			if err := holder.Complete(t.Context(), &idem.Response{Status: 201, Body: []byte("held")}); err != nil {
				t.Fatal(err)
			}
			after := s.db.rows(t)
			answer(reply)
			line := jsonLines(t, p.wait(t).want(t, 0).out)[0]
			if line["verdict"] != "moved-on" || line["error"] != nil {
				t.Errorf("it writes %v", line)
			}
			if s.db.rows(t) != after || s.db.audit(t) != "" {
				t.Errorf("something was changed; the audit says %q", s.db.audit(t))
			}
			wantAnswer(t, s.replay(t, charge), idem.Response{Status: 201, Body: []byte("held")})
		})
	}
}

// The key next in line moves while the command asks about the one before.
func TestReconcileLeavesAloneWhatHasMovedOn(t *testing.T) {
	t.Parallel()
	for move, c := range map[string]struct {
		sql, verdict string
		code         int
	}{
		"taken over": {"UPDATE idem.keys SET fence = fence + 1, claim_id = gen_random_uuid(), locked_until = now() + interval '1 hour' WHERE key = 'b'", "held", 1},
		"extended":   {"UPDATE idem.keys SET locked_until = now() + interval '1 hour' WHERE key = 'b'", "held", 1},
		"completed": {`UPDATE idem.keys SET status = 'committed', leased = false, locked_until = NULL, completed_at = now(), response_status = 201,
			response_header = '', response_body = '' WHERE key = 'b'`, "moved-on", 0},
		"given back":  {"UPDATE idem.keys SET fence = fence + 1, status = 'released', leased = false, locked_until = NULL WHERE key = 'b'", "moved-on", 0},
		"forgotten":   {"DELETE FROM idem.keys WHERE key = 'b'", "moved-on", 0},
		"called anew": {"UPDATE idem.keys SET fence = fence + 1, fingerprint = '\\x0199', locked_until = now() + interval '1 hour' WHERE key = 'b'", "held", 1},
	} {
		t.Run(move, func(t *testing.T) {
			t.Parallel()
			db, d := migrated(t), newDownstream(t)
			db.insert(t, abandoned("a", old(1e12)), abandoned("b"))
			answer := d.waits(t, "a")
			d.says(t, "b", `{"verdict":"found","status":200}`)
			p := d.startAsking(t, db, 1)
			db.exec(t, c.sql)
			b := db.text(t, "coalesce((SELECT k::text FROM idem.keys AS k WHERE key = 'b'), '')")
			answer(`{"verdict":"nothing"}`)
			p.wait(t).want(t, c.code, "nothing: acme POST /charges a\n"+c.verdict+": acme POST /charges b\n")
			if db.text(t, "coalesce((SELECT k::text FROM idem.keys AS k WHERE key = 'b'), '')") != b {
				t.Error("the key was changed")
			}
			if len(d.asked(t)) != 1 || strings.Contains(db.audit(t), "\n") {
				t.Errorf("it was asked about, or the audit says %q", db.audit(t))
			}
		})
	}
}

func TestKeyIsHeldForAsLongAsTheCommandRuns(t *testing.T) {
	t.Parallel()
	s, d := newService(t, migrated(t)), newDownstream(t)
	s.claim(t, charge)
	s.lapse(t)
	answer := d.waits(t, "k-1")
	p := d.startAsking(t, s.db, 1, "--lease", "1s")
	first := s.db.text(t, "SELECT locked_until FROM idem.keys")
	p.until(t, "the lease is extended beyond its length", func() bool {
		return s.db.text(t, fmt.Sprintf("SELECT locked_until > '%s'::timestamptz + interval '1 second' FROM idem.keys", first)) == "true"
	})
	if _, _, err := s.store.Claim(t.Context(), charge); !errors.Is(err, idem.ErrInFlight) {
		t.Errorf("a client meanwhile gets %v", err)
	}
	answer(`{"verdict":"found","status":200}`)
	p.wait(t).want(t, 0, "found: ")
}

func TestTwoReconcilesNeverDecideOneKeyTwice(t *testing.T) {
	t.Parallel()
	t.Run("one waits", func(t *testing.T) {
		t.Parallel()
		db, d := migrated(t), newDownstream(t)
		db.insert(t, abandoned("a", old(1e12)), abandoned("b"))
		answer := d.waits(t, "a")
		d.says(t, "b", `{"verdict":"nothing"}`)
		first := d.startAsking(t, db, 1)
		d.reconcile(t, db).want(t, 0, "nothing: acme POST /charges b\n")
		answer(`{"verdict":"found","status":200}`)
		first.wait(t).want(t, 0, "found: acme POST /charges a\nmoved-on: acme POST /charges b\n")
		if n := len(d.asked(t)); n != 2 {
			t.Errorf("the downstream is asked %d times", n)
		}
	})
	t.Run("both race", func(t *testing.T) {
		t.Parallel()
		db, d := migrated(t), newDownstream(t)
		const keys = 12
		for i := range keys {
			key := fmt.Sprint("k-", i)
			db.insert(t, abandoned(key))
			d.says(t, key, map[int]string{0: `{"verdict":"nothing"}`, 1: `{"verdict":"found","status":200}`}[i%2])
		}
		var all []*process
		for range 3 {
			all = append(all, start(t, db.url, d.args("--settle", "1m")...))
		}
		decided := map[string]int{}
		for _, p := range all {
			for line := range strings.Lines(p.wait(t).out) {
				if verdict, key, _ := strings.Cut(strings.TrimSpace(line), ": "); verdict == "found" || verdict == "nothing" {
					decided[key]++
				} else if verdict != "held" && verdict != "moved-on" && verdict != "too-early" {
					t.Errorf("it says %q", line)
				}
			}
		}
		for key, times := range decided {
			if times != 1 {
				t.Errorf("%s is decided %d times", key, times)
			}
		}
		lines := strings.Split(db.audit(t), "\n")
		slices.Sort(lines)
		if len(decided) != keys || len(slices.Compact(lines)) != keys || len(d.asked(t)) != keys {
			t.Errorf("%d keys are decided, %d audit rows are there, the downstream is asked %d times", len(decided), len(lines), len(d.asked(t)))
		}
	})
}

func TestInterruptedReconcileLeavesTheKeyAsItIs(t *testing.T) {
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			db, d := migrated(t), newDownstream(t)
			db.insert(t, abandoned("a", old(2e12)), abandoned("b", old(1e12)), abandoned("c"))
			d.says(t, "a", `{"verdict":"nothing"}`)
			d.waits(t, "b")
			p := d.startAsking(t, db, 2, "--timeout", "1h", "--limit", "2")
			p.signal(t, signal)
			c := p.wait(t).want(t, 1, "nothing: acme POST /charges a\n", "idem: reconcile: interrupted after 1 of 2 keys\n")
			if strings.Contains(c.out+c.err, "charges b") || strings.Contains(c.err, "there are more") {
				t.Errorf("it says %q and %q", c.out, c.err)
			}
			if got := db.states(t); got != "a released, b abandoned, c abandoned" { // at once, and not after a lease
				t.Errorf("the keys are %s", got)
			}
			if len(d.asked(t)) != 2 || strings.Contains(db.audit(t), "\n") {
				t.Errorf("it went on; the audit says %q", db.audit(t))
			}
		})
	}
}

func TestReconcileEndsWhenTheDatabaseDoes(t *testing.T) {
	t.Parallel()
	db, d := migrated(t), newDownstream(t)
	db.insert(t, abandoned("a", old(1e12)), abandoned("b"))
	answer := d.waits(t, "a")
	p := d.startAsking(t, db, 1)
	db.exec(t, "ALTER TABLE idem.keys RENAME TO elsewhere")
	answer(`{"verdict":"nothing"}`)
	c := p.wait(t).want(t, 1, "idem migrate up")
	db.exec(t, "ALTER TABLE idem.elsewhere RENAME TO keys")
	if len(d.asked(t)) != 1 || c.out != "" || db.audit(t) != "" {
		t.Errorf("it goes on: %q", c.out)
	}
}
