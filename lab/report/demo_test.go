package report

import (
	"strings"
	"testing"
	"time"

	"github.com/pgidem/pgidem/lab/experiment"
)

func measured() *experiment.DemoResult {
	naive := experiment.Result{Design: "check-then-act", Requests: 5000, Payments: 1000, Charges: 1216, Duplicates: 216, Replays: 3784, RequestsPerSecond: 10255.4}
	ours := experiment.Result{Design: "Store.Do", Once: true, Requests: 5000, Payments: 1000, Charges: 1000, Replays: 4000, RequestsPerSecond: 987}
	night := experiment.Night{Second: 50 * time.Millisecond, Result: experiment.Result{Design: "check-then-act", Payments: 30, Charges: 60, Duplicates: 30, Charged: 1, Replays: 29}, PaidTwice: 30}
	eight := experiment.Result{Design: "check-then-insert", Requests: 8, Payments: 1, Charges: 8, Duplicates: 7, AmountCents: 392_00}
	one := experiment.Result{Design: "Store.Do", Once: true, Requests: 8, Payments: 1, Charges: 1, AmountCents: 49_00}
	return &experiment.DemoResult{
		Workers: 100, Copies: 5, DelaySeconds: 0.02,
		Storm:   []experiment.Result{naive, ours},
		Night:   []experiment.Night{night},
		Barrier: []experiment.Trials{{eight, eight, eight}, {one, one, one}},
	}
}

func written(t *testing.T, d Demo) string {
	t.Helper()
	var b strings.Builder
	if err := d.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestDemoOnPaper(t *testing.T) {
	const want = `1,000 payments, each sent 5 times in shuffled order from 100 workers over HTTP
to the payments example; a charge at its card processor, or the work of an
order, takes 20ms. PostgreSQL 18.1, a pool of 100 connections.

  design          charges  duplicates  replays  409s  requests/s
  check-then-act    1,216         216    3,784     0      10,255
  Store.Do          1,000           0    4,000     0         987

A 409 is a client that waited a second for another request and was told to come
back. An order's time passes inside its transaction, so it holds a connection of
the API; a charge holds none.

The night of article 004, a second of which is 50ms here: 30 customers whose
client waits 10 seconds for an answer and sends the payment again under the same
key, and a processor that takes 11.

  design          customers  paid twice  charges  answered
  check-then-act         30          30       60        30

One payment of $49.00, sent by 8 workers released from a barrier at the same
instant; READ COMMITTED, no unique index on the charges. What the customer paid:

  design                                     trial 1        trial 2        trial 3
  check-then-insert                    8 × = $392.00  8 × = $392.00  8 × = $392.00
  Store.Do                              1 × = $49.00   1 × = $49.00   1 × = $49.00
  (check-then-insert, in article 000)  8 × = $392.00  8 × = $392.00  8 × = $392.00

Retries became extra charges, 216 with check-then-act, because copies that
overlap all look before any has charged; with Store.Do they became none: each of
the 1,000 payments was charged exactly once, and every retry got that charge's
answer.
`
	if got := written(t, Demo{DemoResult: measured(), Server: "18.1"}); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestDemoWithProblemsClaimsNothing(t *testing.T) {
	result := measured()
	result.Storm[1].Duplicates = 1
	if got := written(t, Demo{DemoResult: result}); strings.Contains(got, "exactly once") {
		t.Errorf("it claims what was not measured:\n%s", got)
	}
}

func TestDemoSaysHowManyRetriesGotNoAnswer(t *testing.T) {
	result := measured()
	result.Storm[1].Replays, result.Storm[1].InFlight = 3990, 10
	got := written(t, Demo{DemoResult: result})
	if !strings.Contains(strings.Join(strings.Fields(got), " "), "3,990 of 4,000 retries got that charge's answer.") {
		t.Errorf("it does not say so:\n%s", got)
	}
}

func TestDemoInColour(t *testing.T) {
	got := written(t, Demo{DemoResult: measured(), Color: true})
	for _, line := range strings.Split(got, "\n") {
		want := ""
		switch name := strings.TrimLeft(line, " \x1b[0123456789m"); {
		case strings.HasPrefix(name, "check-then-act  "), strings.HasPrefix(name, "check-then-insert  "):
			want = "\x1b[31m"
		case strings.HasPrefix(name, "Store.Do  "):
			want = "\x1b[32m"
		}
		if !strings.HasPrefix(line, want) || strings.HasSuffix(line, "\x1b[0m") != (want != "") {
			t.Errorf("%q is not painted %q", line, want)
		}
	}
}
