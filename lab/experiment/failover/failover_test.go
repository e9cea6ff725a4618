package failover

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/pgidem/pgidem/lab/workbench"
)

// small says the same as a run at full size.
var small = Race{Settled: 12, InHand: 3, Late: 8}

// once is a run that all tests look at.
var once = sync.OnceValues(func() (workbench.Result, error) { return small.Run(context.Background(), new(workbench.Bench)) })

// ran is what one design made of one failover.
func ran(t *testing.T, system System, design string, p Processor) Row {
	t.Helper()
	result, err := once()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range result.(*Result).Failovers {
		if strings.HasSuffix(f.Skipped, "no pg_basebackup") {
			t.Skip("no pg_basebackup")
		}
		if f.Skipped != "" {
			t.Fatal(f.Skipped)
		}
		for _, r := range f.Rows {
			if f.System == system && r.Design == design && r.Processor == p {
				return r
			}
		}
	}
	t.Fatalf("no row of %s, %s, %s", system, design, p)
	return Row{}
}

// want holds the groups of a row to figures. What came to the primary before anything went wrong is the same for all.
func want(t *testing.T, r Row, inHand, late Group) {
	t.Helper()
	n := small.Settled
	for _, one := range []struct {
		name      string
		got, want Group
	}{
		{"settled", r.Settled, Group{Keys: n, Confirmed: n, Answered: n, Charged: n}},
		{"in hand", r.InHand, inHand},
		{"late", r.Late, late},
	} {
		if one.got != one.want {
			t.Errorf("%s, %s, %s:\n got %+v\nwant %+v", r.Design, r.Processor, one.name, one.got, one.want)
		}
	}
}

const (
	k = 3 // small.InHand
	n = 8 // small.Late
)

// What a primary whose replica follows by itself answers, and the replica does not have.
var (
	doneInHand = Group{Keys: k, Confirmed: k, Answered: k, Forgotten: k, Charged: k}
	lost       = Group{Keys: n, Confirmed: n, Answered: n, Lost: n, Forgotten: n, Charged: n, ChargedOfLost: n}
)

// What becomes of it where no commit is confirmed that the standby lacks.
var (
	stuckInHand = Group{Keys: k, Confirmed: k, Charged: k}
	waited      = Group{Keys: n}
)

func (g Group) and(change func(*Group)) Group {
	change(&g)
	return g
}

// again: each of them is charged a second time, and its customer told of that charge.
func again(g *Group) {
	g.Duplicates = g.Keys
	if g.Answered > 0 {
		g.Contradicted = g.Keys
	}
}

func toOperator(g *Group) { g.Unknown = g.Keys }

func TestLostClaimIsChargedAgain(t *testing.T) {
	t.Parallel()
	want(t, ran(t, Async, "Postgres claim", Charges), doneInHand.and(again), lost.and(again))
	want(t, ran(t, Redis, "Redis SET NX", Charges), doneInHand.and(again), lost.and(again))
}

func TestDownstreamKeySavesLostClaims(t *testing.T) {
	t.Parallel()
	for _, r := range []Row{
		ran(t, Async, "Postgres claim", Refuses), ran(t, Async, "Hold, StaleRerun", Refuses), ran(t, Redis, "Redis SET NX", Refuses),
	} {
		want(t, r, doneInHand, lost)
		if r.Refused != k+n {
			t.Errorf("%s: the processor refused %d repeats, want %d", r.Design, r.Refused, k+n)
		}
	}
}

func TestDownstreamKeyIsTheSameAfterALostClaim(t *testing.T) {
	t.Parallel()
	r := ran(t, Async, "Hold, StaleRefuse", Charges)
	if all := r.All(); r.KeysSent != all.Keys || all.Duplicates != n {
		t.Errorf("%d keys for %d payments, of which %d were charged twice", r.KeysSent, all.Keys, all.Duplicates)
	}
}

func TestStaleRefuseCannotSaveALostClaim(t *testing.T) {
	t.Parallel()
	want(t, ran(t, Async, "Hold, StaleRefuse", Charges), doneInHand.and(toOperator), lost.and(again))
}

func TestSynchronousStandbyLosesNoClaim(t *testing.T) {
	t.Parallel()
	for _, one := range []struct {
		design    string
		processor Processor
		inHand    Group
	}{
		{"Postgres claim", Charges, stuckInHand.and(again)}, // a crash, and a takeover
		{"Postgres claim", Refuses, stuckInHand},
		{"Hold, StaleRefuse", Charges, stuckInHand.and(toOperator)},
		{"Hold, StaleRerun", Refuses, stuckInHand},
		{"Store.Do", Here, Group{}},
	} {
		r := ran(t, Sync, one.design, one.processor)
		want(t, r, one.inHand, waited)
		if r.Waiting != n {
			t.Errorf("%s: %d commits waited for the standby, want %d", one.design, r.Waiting, n)
		}
		if r.Failure == "" {
			t.Errorf("%s: customers without an answer were told nothing", one.design)
		}
	}
}

func TestAsynchronousFailoverTakesOrdersThatWereAnswered(t *testing.T) {
	t.Parallel()
	r := ran(t, Async, "Store.Do", Here)
	r.Late.Contradicted = 0 // some get their number again, by chance
	want(t, r, Group{}, lost.and(func(g *Group) { g.Charged, g.ChargedOfLost = 0, 0 }))
}

func TestCheckNamesAStandbyUntilItIsPromoted(t *testing.T) {
	t.Parallel()
	ran(t, Async, "Store.Do", Here)
	result, _ := once()
	for _, f := range result.(*Result).Failovers[:2] {
		if f.Check.Primary != "" || !strings.Contains(f.Check.Standby, "is a standby") || f.Check.Promoted != "" {
			t.Errorf("%s: %+v", f.System, *f.Check)
		}
	}
}

func TestSmallRunSaysWhatALargeOneDoes(t *testing.T) {
	t.Parallel()
	ran(t, Async, "Store.Do", Here)
	result, _ := once()
	section := result.Section()
	for _, f := range section.Failed() {
		t.Errorf("%s: %s", f.Claim, f.Measured)
	}
	if len(section.Findings) != len(sentences)+2 {
		t.Errorf("%d findings of %d sentences and two servers", len(section.Findings), len(sentences))
	}
}

func TestSizesThatMakeNoExperimentAreRefused(t *testing.T) {
	t.Parallel()
	for says, r := range map[string]Race{
		"":                *New(),
		"--settled is 0":  {Settled: 0, InHand: 1, Late: 1},
		"--in-hand is 0":  {Settled: 1, InHand: 0, Late: 1},
		"--late is -1":    {Settled: 1, InHand: 1, Late: -1},
		"are 71 together": {Settled: 1, InHand: 1, Late: MaxAtOnce},
	} {
		if err := r.Check(); (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%+v: %v, want %q", r, err, says)
		}
	}
}
