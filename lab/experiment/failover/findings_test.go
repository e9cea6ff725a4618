package failover

import (
	"bytes"
	"strings"
	"testing"

	"github.com/pgidem/pgidem/lab/report"
	"github.com/pgidem/pgidem/lab/report/chart"
)

// expected is a result in which everything is as it is said to be.
func expected() *Result {
	settled := Group{Keys: 12, Confirmed: 12, Answered: 12, Charged: 12}
	row := func(s subject, inHand, late Group) Row {
		r := Row{Design: s.design, Ours: s.ours, Processor: s.processor, Settled: settled, InHand: inHand, Late: late}
		switch s.processor {
		case Refuses:
			r.Refused, r.KeysSent = inHand.Charged+late.ChargedOfLost, r.All().Keys
		case Charges:
			r.KeysSent = r.All().Keys
		}
		r.Waiting = late.Keys - late.Answered
		return r
	}
	c := &Checks{Standby: "this server is a standby"}
	order := lost.and(func(g *Group) { g.Charged, g.ChargedOfLost = 0, 0 })
	claim, claimKey, refuse, rerun, do := onPostgres[0], onPostgres[1], onPostgres[2], onPostgres[3], onPostgres[4]
	return &Result{Settled: 12, InHand: k, Late: n, Failovers: []Failover{
		{System: Async, Check: c, Rows: []Row{
			row(claim, doneInHand.and(again), lost.and(again)), row(claimKey, doneInHand, lost),
			row(refuse, doneInHand.and(toOperator), lost.and(again)), row(rerun, doneInHand, lost), row(do, Group{}, order),
		}},
		{System: Sync, Check: &Checks{Standby: "this server is a standby"}, Rows: []Row{
			row(claim, stuckInHand.and(again), waited), row(claimKey, stuckInHand, waited),
			row(refuse, stuckInHand.and(toOperator), waited), row(rerun, stuckInHand, waited), row(do, Group{}, waited),
		}},
		{System: Redis, Rows: []Row{
			row(onRedis[0], doneInHand.and(again), lost.and(again)), row(onRedis[1], doneInHand, lost),
		}},
	}}
}

// Each sentence fails when a figure is not what it says.
func TestFindingsFailWhenTheirFiguresDo(t *testing.T) {
	t.Parallel()
	if failed := expected().Section().Failed(); len(failed) > 0 {
		t.Fatalf("nothing is wrong, and it finds %+v", failed)
	}
	const async, synchronous, redis = 0, 1, 2
	const claim, claimKey, refuse, rerun, do = 0, 1, 2, 3, 4
	broken := map[string]bool{}
	for _, c := range []struct {
		claim         string // begins so
		failover, row int
		breaks        func(*Row)
	}{
		{"A replica promoted", redis, 1, func(r *Row) { r.Late.Lost-- }},
		{"A replica promoted", redis, 0, func(r *Row) { r.Settled.Lost++ }},
		{"If the side effect is not", async, claim, func(r *Row) { r.InHand.Duplicates, r.Late.Duplicates = 0, 0 }},
		{"If the side effect is not", redis, 0, func(r *Row) { r.InHand.Duplicates, r.Late.Duplicates = 0, 0 }},
		{"If the side effect refuses", redis, 1, func(r *Row) { r.Late.Duplicates++ }},
		{"If the side effect refuses", synchronous, claimKey, func(r *Row) { r.Late.Missing++ }},
		{"Where key and charge", async, do, func(r *Row) { r.Late.Duplicates++ }},
		{"A failover to an asynchronous", async, do, func(r *Row) { r.Late.Lost-- }},
		{"A failover to an asynchronous", async, rerun, func(r *Row) { r.Settled.Forgotten++ }},
		{"A failover to a synchronous", synchronous, refuse, func(r *Row) { r.InHand.Lost++ }},
		{"A failover to a synchronous", synchronous, do, func(r *Row) { r.Late.Forgotten++ }},
		{"Where every commit waits", synchronous, claim, func(r *Row) { r.Waiting-- }},
		{"Where every commit waits", synchronous, rerun, func(r *Row) { r.Late.Charged++ }},
		{"Where every commit waits", synchronous, do, func(r *Row) { r.Late.Answered++ }},
		{"Without a processor", async, refuse, func(r *Row) { r.Late.Duplicates-- }},
		{"Without a processor", redis, 0, func(r *Row) { r.Late.Duplicates++ }},
		{"With its downstream key", async, rerun, func(r *Row) { r.Late.Contradicted++ }},
		{"With its downstream key", async, rerun, func(r *Row) { r.InHand.Duplicates++ }},
		{"With its downstream key", async, rerun, func(r *Row) { r.InHand.Unknown++ }},
		{"The downstream key", async, refuse, func(r *Row) { r.KeysSent++ }},
		{"The downstream key", async, refuse, func(r *Row) { r.Late.Duplicates, r.InHand.Duplicates = 0, 0 }},
		{"So the processor refuses", async, rerun, func(r *Row) { r.Refused-- }},
		{"So the processor refuses", synchronous, rerun, func(r *Row) { r.Refused++ }},
		{"In a failover that loses no commit", synchronous, refuse, func(r *Row) { r.InHand.Duplicates++ }},
		{"In a failover that loses no commit", synchronous, refuse, func(r *Row) { r.InHand.Unknown-- }},
		{"A synchronous standby replaces", synchronous, claim, func(r *Row) { r.InHand.Duplicates = 0 }},
		{"A synchronous standby replaces", synchronous, claim, func(r *Row) { r.Late.Duplicates++ }},
		{"An asynchronous failover loses key and row", async, do, func(r *Row) { r.Late.Forgotten-- }},
		{"An asynchronous failover loses key and row", async, do, func(r *Row) { r.Late.Charged++ }},
		{"A synchronous failover takes", synchronous, do, func(r *Row) { r.Settled.Forgotten++ }},
	} {
		result := expected()
		c.breaks(&result.Failovers[c.failover].Rows[c.row])
		found := false
		for _, f := range result.Section().Failed() {
			found = found || strings.HasPrefix(f.Claim, c.claim)
			broken[f.Claim] = true
		}
		if !found {
			t.Errorf("%q holds although row %d of failover %d is broken", c.claim, c.row, c.failover)
		}
	}
	for _, s := range sentences {
		if !broken[s.claim] {
			t.Errorf("nothing breaks %q", s.claim)
		}
	}
}

func TestCheckThatSaysTheWrongThingFails(t *testing.T) {
	t.Parallel()
	for _, breaks := range []func(*Checks){
		func(c *Checks) { c.Standby = "" },
		func(c *Checks) { c.Promoted = "this server is a standby" },
	} {
		result := expected()
		breaks(result.Failovers[1].Check)
		failed := result.Section().Failed()
		if len(failed) != 1 || !strings.HasPrefix(failed[0].Claim, "PostgreSQL sync: idem check") {
			t.Errorf("failed: %+v", failed)
		}
	}
}

func TestSectionSaysWhatIsBadAndWhatWasLeftOut(t *testing.T) {
	t.Parallel()
	result := expected()
	redis := &result.Failovers[2]
	redis.Skipped = "skipped: no redis-server"
	for i := range redis.Rows {
		redis.Rows[i] = Row{Design: redis.Rows[i].Design, Processor: redis.Rows[i].Processor}
	}
	s := result.Section()
	if len(s.Skipped) != 1 || s.Skipped[0] != "Redis: skipped: no redis-server" {
		t.Errorf("left out: %q", s.Skipped)
	}
	for _, f := range s.Findings {
		if strings.HasPrefix(f.Claim, "A replica promoted") {
			t.Errorf("a finding about what was not measured: %+v", f)
		}
	}
	tones := []chart.Tone{
		chart.Bad, chart.Good, chart.Bad, chart.Good, chart.Bad, // async
		chart.Bad, chart.Good, chart.Good, chart.Good, chart.Good, // sync
		chart.Skipped, chart.Skipped,
	}
	duplicates := s.Charts[0].(chart.Bars)
	for i, row := range s.Tables[0].Rows {
		if row.Tone != tones[i] || duplicates.Bars[i].Tone != tones[i] {
			t.Errorf("%q is %q in the table and %q in the chart, want %q", row.Cells, row.Tone, duplicates.Bars[i].Tone, tones[i])
		}
	}
	lost := s.Charts[1].(chart.Bars).Bars
	if lost[0].Text != "40 of 112" || lost[0].Value != 40 || lost[1].Tone != chart.Good || lost[2].Tone != chart.Skipped {
		t.Errorf("lost claims: %+v", lost)
	}
	var text bytes.Buffer
	if err := (report.Text{Section: s}).Write(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"skipped: no redis-server", "Hold, StaleRefuse", "A claim that was confirmed and is not on"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in:\n%s", want, &text)
		}
	}
	result.Failovers[0].Rows[1].Late.Duplicates++
	if s := result.Section(); strings.Contains(s.Lead, moral) {
		t.Error("the lead concludes from what does not hold")
	}
}
