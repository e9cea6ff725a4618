package cleanup

import (
	"bytes"
	"strings"
	"testing"

	"github.com/pgidem/pgidem/lab/report"
)

// stage is the requests of one time that were all told the same.
func stage(when, answer string) Stage { return Stage{when, map[string]int{answer: 5}} }

// fabricated is a run in which every sentence holds.
func fabricated() *Result {
	r := &Result{Keys: 5}
	dead := func(name, fault, work, update string) Design {
		return Design{
			Variant: Variant{name, fault}, Keys: 5, Dead: 5,
			Stages: []Stage{stage(atFirst, "500"), stage(atOnce, "409 request_in_progress"), stage(aLeaseLater, "409 request_in_progress"),
				stage(aYearLater, "409 request_in_progress"), stage(afterOperator, "409 request_in_progress")},
			Steps: []Step{{workStep, work}, {cleanupStep, update}, {rollbackStep, "ok"}, {selectStep, "in_progress"}},
		}
	}
	bought := func(name, fault string, later ...Stage) Design {
		return Design{
			Variant: Variant{name, fault}, Keys: 5, Completed: 5, Charges: 5,
			Stages: append([]Stage{stage(atFirst, "500")}, later...),
		}
	}
	retry := stage(atOnce, "201 charged")
	unsure := bought(holdRefuse, faultLost, stage(atOnce, "409 outcome-unknown"), stage(afterOperator, "200 replayed"))
	died := bought(holdRefuse, faultKilled, stage(atOnce, "409 in-flight"), stage(aLeaseLater, "409 outcome-unknown"))
	unsure.Listed, unsure.Unknown, died.Listed, died.Unknown = 5, 5, 5, 5
	twice := bought(deleted, faultLost, retry)
	twice.Charges, twice.ChargedTwice = 10, 5
	freed := bought(together, faultReceipt, retry)
	freed.Steps = []Step{{cleanupStep, "25P02"}}
	r.Designs = []Design{
		dead(insideSQL, faultReceipt, "23505", "25P02"),
		dead(insideHealthy, faultMail, "mail server down", "23514"),
		dead(insideAllowed, faultMail, "mail server down", "1 row"),
		dead(deleted, faultKilled, "killed", ""),
		bought(marked, faultReceipt, retry),
		bought(deleted, faultReceipt, retry),
		freed,
		bought(do, faultReceipt, retry),
		bought(doCleaningUp, faultReceipt, retry),
		bought(holdTransient, faultReach, retry),
		twice, unsure, died,
		bought(holdRerun, faultLost, retry),
		bought(holdRerun, faultKilled, stage(atOnce, "409 in-flight"), stage(aLeaseLater, "201 charged")),
		bought(swept, faultKilled, stage(atOnce, "409 request_in_progress"), stage(aLeaseLater, "201 charged")),
	}
	for _, v := range vanishings() {
		one := v.Vanishing
		one.Looks, one.Answer, one.Again, one.Charges = one.Times+1, "201 charged", "200 replayed", 1
		if one.Times == tries {
			one.Looks, one.Answer, one.Again = tries, "409 claim-contended", "201 charged"
			if one.Handler == guarded {
				one.Answer = "409 claim_contended"
			}
		}
		if one.Handler == unguarded {
			one.Looks, one.Answer, one.Again = 1, "500 no rows in result set", "201 charged"
		}
		one.Steps = []Step{{"the client is told", one.Answer}}
		r.Vanished = append(r.Vanished, one)
	}
	return r
}

// at changes one design of the result.
func (r *Result) at(name, fault string) *Design {
	for i := range r.Designs {
		if r.Designs[i].Variant == (Variant{name, fault}) {
			return &r.Designs[i]
		}
	}
	panic("there is no such design")
}

// lost changes one row that vanished.
func (r *Result) lost(handler string, times int) *Vanishing {
	for i := range r.Vanished {
		if r.Vanished[i].Handler == handler && r.Vanished[i].Times == times {
			return &r.Vanished[i]
		}
	}
	panic("there is no such row")
}

func TestFindingFailsWithItsFigure(t *testing.T) {
	for _, f := range fabricated().findings() {
		if !f.Holds {
			t.Fatalf("%+v", f)
		}
	}
	for _, c := range []struct {
		claim, broken string
		change        func(*Result)
	}{
		{"PostgreSQL poisons", "the UPDATE lands", func(r *Result) { r.at(insideSQL, faultReceipt).Steps[1].Answer = "1 row" }},
		{"On a healthy transaction", "the UPDATE lands", func(r *Result) { r.at(insideHealthy, faultMail).Steps[1].Answer = "1 row" }},
		{"Even if the write", "it stays", func(r *Result) { r.at(insideAllowed, faultMail).Steps[3].Answer = "failed" }},
		{"The row stays in_progress", "one can buy", func(r *Result) { r.at(insideSQL, faultReceipt).Dead-- }},
		{"The row stays in_progress", "not a year later", func(r *Result) { r.at(insideAllowed, faultMail).Stages[3].Answers = nil }},
		{"Mark failure outside", "one cannot buy", func(r *Result) { r.at(marked, faultReceipt).Completed-- }},
		{"Better still", "one is charged twice", func(r *Result) { r.at(deleted, faultReceipt).ChargedTwice++ }},
		{"A created_at sweeper", "it is not needed", func(r *Result) { r.at(deleted, faultKilled).Dead = 0 }},
		{"A created_at sweeper", "it does not come", func(r *Result) { r.at(swept, faultKilled).Stages[2].Answers = nil }},
		{"That line leaves a key dead only", "not at the retry", func(r *Result) {
			r.at(together,
				faultReceipt).Stages[1].Answers = nil
		}},
		{"Deleting the claim is right only", "it always is", func(r *Result) { r.at(deleted, faultLost).ChargedTwice = 0 }},
		{"Store.Do leaves no key", "it does", func(r *Result) { r.at(do, faultReceipt).Dead++ }},
		{"Store.Do leaves no key", "it does with a clean-up", func(r *Result) { r.at(doCleaningUp, faultReceipt).Charges++ }},
		{"Store.Hold gives a key back", "it does not", func(r *Result) { r.at(holdTransient, faultReach).Stages[1].Answers = nil }},
		{"Where the outcome is unknown", "it is not said", func(r *Result) { r.at(holdRefuse, faultLost).Stages[1].Answers = nil }},
		{"Where the outcome is unknown", "it is not said of the dead", func(r *Result) {
			r.at(holdRefuse,
				faultKilled).Stages[2].Answers = nil
		}},
		{"Where the outcome is unknown", "one is not listed", func(r *Result) { r.at(holdRefuse, faultKilled).Listed-- }},
		{"Where the outcome is unknown", "one is charged twice", func(r *Result) { r.at(holdRefuse, faultLost).ChargedTwice++ }},
		{"Where the processor refuses", "one is charged twice", func(r *Result) { r.at(holdRerun, faultLost).ChargedTwice++ }},
		{"Where the processor refuses", "one cannot buy", func(r *Result) { r.at(holdRerun, faultKilled).Completed-- }},
		{"A handler that takes the row", "it survives", func(r *Result) { r.lost(unguarded, 1).Answer = "201 charged" }},
		{"With its guard", "at the first", func(r *Result) { r.lost(guarded, 1).Looks = 1 }},
		{"Falling through", "it charges twice", func(r *Result) { r.lost(guarded, 3).Charges = 2 }},
		{"Store.Do and Store.Hold look", "it crashes", func(r *Result) { r.lost(holdLoses, 2).Answer = "500 no rows in result set" }},
		{"Store.Do and Store.Hold look", "it looks for ever", func(r *Result) { r.lost(doLoses, 3).Looks = 4 }},
	} {
		t.Run(c.claim+", "+c.broken, func(t *testing.T) {
			r := fabricated()
			c.change(r)
			if f := finding(t, r, c.claim); f.Holds {
				t.Errorf("it holds all the same: %+v", f)
			}
		})
	}
	for _, f := range new(Result).findings() {
		if f.Holds || !f.Must {
			t.Errorf("it holds of nothing, or need not hold: %+v", f)
		}
	}
}

func finding(t *testing.T, r *Result, claim string) report.Finding {
	t.Helper()
	for _, f := range r.findings() {
		if strings.HasPrefix(f.Claim, claim) {
			return f
		}
	}
	t.Fatalf("there is no finding %q", claim)
	return report.Finding{}
}

func TestSectionShowsEveryDesign(t *testing.T) {
	s := fabricated().Section()
	if len(s.Charts) == 0 || len(s.Tables) == 0 || s.Title == "" || s.Lead == "" || s.Articles == "" {
		t.Errorf("something is missing: %+v", s)
	}
	for _, table := range s.Tables {
		if len(table.Rows) == 0 {
			t.Errorf("%s: no rows", table.Title)
		}
		for _, row := range table.Rows {
			if len(row.Cells) != len(table.Columns) {
				t.Errorf("%s: %d cells under %d heads: %q", table.Title, len(row.Cells), len(table.Columns), row.Cells)
			}
		}
	}
	var text bytes.Buffer
	if err := (report.Text{Section: s}).Write(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{insideSQL, "25P02", "23514", "undoes it", deleted + ": " + faultLost, "409 outcome-unknown",
		bySweep, "ErrNoRows"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in:\n%s", want, &text)
		}
	}
}

func TestAnswersThatDifferAreCounted(t *testing.T) {
	d := Design{Stages: []Stage{{atOnce, map[string]int{"201 charged": 2, "409 in-flight": 1}}}}
	if got := d.answers(atOnce); got != "2 × 201 charged, 1 × 409 in-flight" {
		t.Errorf("%q", got)
	}
	if got := d.answers(aYearLater); got != "–" {
		t.Errorf("%q", got)
	}
}
