package report

import (
	"strings"
	"testing"

	"github.com/pgidem/pgidem/lab/experiment"
)

func crashed() *experiment.CrashResult {
	return &experiment.CrashResult{
		Keys: 1000, Kills: 100, Workers: 8, StaleSeconds: 0.1, RetrySeconds: 0.12, LeaseSeconds: 0.3,
		Rows: []experiment.CrashRow{
			{Design: "Redis SET NX, expiry as takeover", Article: &experiment.ArticleRow{Charges: 1100, Duplicates: 100},
				Kills: 100, Charges: 1100, Duplicates: 100, Answered: 1000, Seconds: 1.94},
			{Design: "Postgres transaction, local write", Article: &experiment.ArticleRow{Charges: 1000}, Once: true,
				Kills: 100, Charges: 1000, Answered: 1000, Seconds: 2},
			{Design: "Hold, StaleRefuse", Ours: true, Once: true, Operator: true,
				Kills: 100, Charges: 1000, Unresolved: 100, Answered: 1000, Seconds: 5.66},
			{Design: "Hold, StaleResolve", Ours: true, Kills: 100, Charges: 1100, Duplicates: 100, Answered: 1000, Seconds: 4.7},
		},
	}
}

func crashOnPaper(t *testing.T, c Crash) string {
	t.Helper()
	var b strings.Builder
	if err := c.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestCrashOnPaper(t *testing.T) {
	t.Parallel()
	const want = `1,000 payments through the six designs of article 003, 8 workers at a time, each
a process of its own. On 100 keys the worker dies by SIGKILL after the charge
and before the completion mark; the client comes again every 120ms, and a
pending key counts as stale after 100ms. PostgreSQL 18.1, Redis 8.4.0, and a
card processor that is a process of its own.

  design                             charges  duplicates  unresolved  answered  seconds  article 003
  Redis SET NX, expiry as takeover     1,100         100           0     1,000      1.9  1,100 / 100
  Postgres transaction, local write    1,000           0           0     1,000      2.0    1,000 / 0

Beside each row what article 003 prints for it, for 1,000 keys and 100 crashes
(charges and duplicates).

The same through pgidem, with leases of 300ms. A call that lands late is one
whose worker dies as soon as the processor is asked: its charge lands when the
key has been taken up again, however long Settle is.

  design              charges  duplicates  unresolved  answered  seconds
  Hold, StaleRefuse     1,000           0         100     1,000      5.7
  Hold, StaleResolve    1,100         100           0     1,000      4.7

Unresolved keys are those that no policy may decide: their clients are told that
the outcome is unknown, and they are listed. Here an operator looked each of the
100 up in the processor's books and settled it, and its client then got that
answer.

A crash between the charge and its mark became a second charge, 100 times of
100, wherever nothing but the key store stood guard. It became none where the
charge is in the key's own transaction, where the processor refuses to repeat a
key, where it can be asked and says what is pending, and where the key is left
to an operator; and every payment was answered. The last row is where that ends:
a processor that says that nothing has happened while a call is on its way is
asked to charge again. StaleResolve is not for it, unless Settle is longer than
a call can take.
`
	if got := crashOnPaper(t, Crash{CrashResult: crashed(), PostgreSQL: "18.1", Redis: "8.4.0"}); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestCrashWithProblemsClaimsNothing(t *testing.T) {
	t.Parallel()
	result := crashed()
	result.Rows[1].Duplicates = 1
	if got := crashOnPaper(t, Crash{CrashResult: result}); strings.Contains(got, "became none") {
		t.Errorf("it claims what was not measured:\n%s", got)
	}
}

func TestCrashWithoutARiskyRowDoesNotSpeakOfIt(t *testing.T) {
	t.Parallel()
	result := crashed()
	result.Rows = result.Rows[:3]
	if got := crashOnPaper(t, Crash{CrashResult: result}); !strings.Contains(got, "became none") || strings.Contains(got, "last row") {
		t.Errorf("it says:\n%s", got)
	}
}

func TestCrashInColour(t *testing.T) {
	t.Parallel()
	got := crashOnPaper(t, Crash{CrashResult: crashed(), Color: true})
	for _, line := range strings.Split(got, "\n") {
		want := ""
		switch name := strings.TrimLeft(line, " \x1b[0123456789m"); {
		case strings.HasPrefix(name, "Redis SET NX,"), strings.HasPrefix(name, "Hold, StaleResolve"):
			want = "\x1b[31m"
		case strings.HasPrefix(name, "Postgres transaction,"), strings.HasPrefix(name, "Hold, StaleRefuse"):
			want = "\x1b[32m"
		}
		if !strings.HasPrefix(line, want) || strings.HasSuffix(line, "\x1b[0m") != (want != "") {
			t.Errorf("%q is not painted %q", line, want)
		}
	}
}
