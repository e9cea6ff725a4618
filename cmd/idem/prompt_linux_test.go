package main

import (
	"strings"
	"syscall"
	"testing"
)

// ask starts an operation on k-1 with somebody at the terminal, and returns once it has asked.
func ask(t *testing.T, db *testDatabase, name string) (p *process, typed func(string)) {
	t.Helper()
	p, typed = startAtTerminal(t, db.url, append(append([]string{}, operations[name]...), "k-1")...)
	p.until(t, "it asks", func() bool { return strings.Contains(p.err.String(), "[y/N] ") })
	return p, typed
}

func TestOperationsAskAtTheTerminal(t *testing.T) {
	t.Parallel()
	for name, what := range map[string]string{"settle": "Settle", "release": "Give back", "forget": "Delete"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := migrated(t)
			db.insert(t, abandoned("k-1"))
			before := db.rows(t)
			for _, answer := range []string{"n\n", "\n", "yeah\n", "no\n", "\x04", "y\x04\x04"} { // the last two: no line was ended
				p, typed := ask(t, db, name)
				if asked, want := p.err.String(), what+" k-1 of tenant acme at POST /charges, which is abandoned, claimed 2"; !strings.HasPrefix(asked, want) ||
					!strings.HasSuffix(asked, " UTC, fence 7? [y/N] ") {
					t.Errorf("it asks %q", asked)
				}
				typed(answer)
				p.wait(t).want(t, 1, "\nidem: nothing was changed") // at the start of a line
				if db.rows(t) != before || db.audit(t) != "" {
					t.Errorf("%q changes something", answer)
				}
			}
			for _, answer := range []string{"y\n", "yes\n", " YES \n"} {
				p, typed := ask(t, db, name)
				typed(answer)
				p.wait(t).want(t, 0)
				if db.rows(t) == before || db.audit(t) == "" {
					t.Errorf("%q changes nothing", answer)
				}
				db.exec(t, "DELETE FROM idem.keys; DELETE FROM idem.audit")
				db.insert(t, abandoned("k-1"))
			}
		})
	}
}

func TestInterruptAtTheQuestionChangesNothing(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	db.insert(t, abandoned("k-1"))
	before := db.rows(t)
	for name := range operations {
		for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
			p, _ := ask(t, db, name)
			p.signal(t, signal)
			p.wait(t).want(t, 1, "\nidem: nothing was changed")
			if db.rows(t) != before || db.audit(t) != "" {
				t.Errorf("%s changes something after %s", name, signal)
			}
		}
	}
}

// The key moves on between the question and the answer.
func TestKeyThatMovesWhileItIsAskedAboutIsLeftAlone(t *testing.T) {
	t.Parallel()
	for move, sql := range map[string]string{
		"taken over":         "UPDATE idem.keys SET fence = fence + 1, claim_id = gen_random_uuid(), locked_until = now() + interval '1 hour'",
		"taken and given up": "UPDATE idem.keys SET fence = fence + 1, claim_id = gen_random_uuid()",
		"asked about":        "UPDATE idem.keys SET claim_id = gen_random_uuid()",
		"extended":           "UPDATE idem.keys SET locked_until = now() + interval '1 hour'",
		"completed": `UPDATE idem.keys SET claim_id = gen_random_uuid(), status = 'committed', leased = false, locked_until = NULL, completed_at = now(),
			response_status = 201, response_header = '', response_body = ''`,
		"released by another": "UPDATE idem.keys SET fence = fence + 1, status = 'released', locked_until = NULL",
		"forgotten":           "DELETE FROM idem.keys",
	} {
		t.Run(move, func(t *testing.T) {
			t.Parallel()
			db := migrated(t)
			for name := range operations {
				db.exec(t, "DELETE FROM idem.keys")
				db.insert(t, abandoned("k-1"))
				db.step(t, "k-1", 1, "charge", "")
				p, typed := ask(t, db, name)
				db.exec(t, sql)
				moved := db.rows(t)
				typed("y\n")
				p.wait(t).want(t, 1, "the key has moved on since it was seen (abandoned, fence 7): nothing was changed; look again")
				if db.rows(t) != moved || db.audit(t) != "" {
					t.Errorf("%s of a key that was %s changes it, or leaves an audit row", name, move)
				}
			}
		})
	}
}

func TestQuestionMakesHostileTextSafe(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	db.insert(t, abandoned("k\x1b[2J\u202e1"))
	p, typed := startAtTerminal(t, db.url, append(append([]string{}, operations["forget"]...), "k\x1b[2J\u202e1")...)
	p.until(t, "it asks", func() bool { return strings.Contains(p.err.String(), "[y/N] ") })
	if asked := p.err.String(); !strings.HasPrefix(asked, "Delete k\uFFFD[2J\uFFFD1 of tenant") {
		t.Errorf("it asks %q", asked)
	}
	typed("n\n")
	p.wait(t).want(t, 1)
}

// A question that nobody sees is none.
func TestOperationsDoNotAskWhereTheQuestionIsNotSeen(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	db.insert(t, abandoned("k-1"))
	p, _, terminal := onTerminal(t, []string{"DATABASE_URL=" + db.url}, binary, append(append([]string{}, operations["forget"]...), "k-1")...)
	defer terminal.Close()
	p.cmd.Stdin, p.cmd.Stderr = terminal, p.err
	p.start(t)
	p.wait(t).want(t, 2, "--yes is missing")
}
