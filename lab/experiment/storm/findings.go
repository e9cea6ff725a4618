package storm

import (
	"fmt"
	"strings"

	"github.com/pgidem/pgidem/lab/report"
)

const article = "article 003"

// findings are what the article says of a storm, and what the product promises in one.
func (r *Result) findings() []report.Finding {
	all := []report.Finding{r.everyRetryCharges(), r.overlapCharges(), r.countsDiffer(), r.fastest()}
	if safe := r.of(claim, transaction, redisLock); len(safe) > 0 {
		all = append(all,
			kept(article, "A single atomic claim on the key brings the duplicates to zero.", safe),
			r.oneCallerWins(),
		)
	}
	all = append(all, r.losersReplay(), r.slowerIsWorse())
	all = append(all, r.rehearsed()...)
	for _, row := range r.ours() {
		all = append(all, kept("pgidem",
			fmt.Sprintf("%s charges every payment exactly once, and all its answers name that charge.", row.Design), []Row{row}))
	}
	return append(all, r.oursWhenSlow())
}

func (r *Result) everyRetryCharges() report.Finding {
	row := r.row(none)
	f := report.Finding{Source: article, Claim: "Without a key every retry is a charge.", Must: true, Holds: true}
	f.Measured = row.Duplicates.Whole() + " duplicates"
	for _, t := range row.Trials {
		if t.Duplicates != t.Requests-t.Payments {
			f.Holds = false
			f.Measured = fmt.Sprintf("%s duplicates of %s retries", report.Number(t.Duplicates), report.Number(t.Requests-t.Payments))
		}
	}
	return f
}

func (r *Result) overlapCharges() report.Finding {
	row := r.row(checkThenAct)
	f := report.Finding{
		Source: article, Claim: "Check-then-act charges again; the count is never zero.", Must: true,
		Measured: fmt.Sprintf("%s duplicates in %d trials", row.Duplicates.Whole(), len(row.Trials)),
		Holds:    row.Duplicates.Low > 0,
	}
	if !f.Holds {
		f.Measured += ": too few copies have overlapped; send more, or let a charge take longer"
	}
	return f
}

func (r *Result) countsDiffer() report.Finding {
	var counts []string
	for _, t := range r.row(checkThenAct).Trials {
		counts = append(counts, report.Number(t.Duplicates))
	}
	spread := r.row(checkThenAct).Duplicates
	return report.Finding{
		Source: article, Claim: "A second run of check-then-act gives another count.",
		Measured: report.List(counts) + " duplicates", Holds: spread.Low < spread.High,
	}
}

func (r *Result) fastest() report.Finding {
	f := report.Finding{
		Source: article, Claim: "Check-then-act looks fast: of the designs in PostgreSQL it answers the storm fastest.", Holds: true,
	}
	var speeds []string
	fast := r.row(checkThenAct).RequestsPerSecond.Median
	for _, row := range r.of(checkThenAct, none, claim, transaction) {
		f.Holds = f.Holds && fast >= row.RequestsPerSecond.Median
		speeds = append(speeds, row.Design+" "+row.RequestsPerSecond.Whole())
	}
	f.Measured = report.List(speeds) + " requests a second"
	return f
}

func (r *Result) oneCallerWins() report.Finding {
	f := report.Finding{Source: article, Claim: "The claim succeeds for exactly one caller of a key.", Must: true, Holds: true}
	var wins []string
	for _, row := range r.of(claim, transaction, redisLock) {
		for _, t := range row.Trials {
			if t.Charged != t.Payments {
				f.Holds = false
				wins = append(wins, fmt.Sprintf("%s: %d winners of %d keys", row.Design, t.Charged, t.Payments))
			}
		}
	}
	if f.Holds {
		wins = []string{fmt.Sprintf("%s winners of %s keys in every trial", report.Number(r.Keys), report.Number(r.Keys))}
	}
	f.Measured = strings.Join(wins, "; ")
	return f
}

func (r *Result) losersReplay() report.Finding {
	f := report.Finding{
		Source: article, Must: true, Holds: true,
		Claim: "Who loses the claim polls until the winner has finished, and gets its answer or, after five seconds, a 409.",
	}
	replays, gaveUp := 0, 0
	for _, t := range r.row(claim).Trials {
		f.Holds = f.Holds && t.Replays+t.InFlight == t.Requests-t.Payments
		replays += t.Replays
		gaveUp += t.InFlight
	}
	f.Measured = fmt.Sprintf("%s replays and %s 409s in all trials", report.Number(replays), report.Number(gaveUp))
	return f
}

// slowerIsWorse is no matter of logic: no more copies can overlap than there are workers.
func (r *Result) slowerIsWorse() report.Finding {
	f := report.Finding{Source: article, Claim: "Widen the window with a slow payment processor and the duplicates get worse."}
	for _, s := range r.Slow {
		if s.Design != checkThenAct {
			continue
		}
		var counts []string
		for _, p := range s.Points {
			counts = append(counts, fmt.Sprintf("%s at %s", p.Duplicates.Whole(), report.Duration(p.DelaySeconds)))
		}
		f.Measured = report.List(counts)
		f.Holds = s.Points[len(s.Points)-1].Duplicates.Median > s.Points[0].Duplicates.Median
	}
	return f
}

func (r *Result) rehearsed() []report.Finding {
	claims := map[string]string{
		unitTest:   "A unit test sends one request, and does not catch check-then-act.",
		uniqueKeys: "A load test with unique keys sends no retries, and does not catch it either.",
		oneByOne:   "The failure needs duplicates that overlap in time: retries one after the other do not show it.",
	}
	var all []report.Finding
	for _, t := range r.Rehearsals {
		saw := t.Result
		all = append(all, report.Finding{
			Source: article, Claim: claims[t.Test], Must: true,
			Measured: fmt.Sprintf("%s duplicates; requests sent: %s", report.Number(saw.Duplicates), report.Number(saw.Requests)),
			Holds:    saw.Duplicates == 0 && saw.Failed == 0,
		})
	}
	return all
}

func (r *Result) oursWhenSlow() report.Finding {
	f := report.Finding{Source: "pgidem", Claim: "However slow the processor is, no payment is charged twice.", Must: true}
	var problems []string
	storms := 0
	for _, s := range r.Slow {
		if s.Design == checkThenAct {
			continue
		}
		for _, p := range s.Points {
			storms += len(p.Trials)
			problems = append(problems, broken(s.Design, p.Trials)...)
		}
	}
	f.Holds = len(problems) == 0
	f.Measured = fmt.Sprintf("no duplicate in %d storms", storms)
	if !f.Holds {
		f.Measured = strings.Join(problems, "; ")
	}
	return f
}

// kept is the finding that each payment was charged once in all trials of these rows, and that its answers agree.
func kept(source, claim string, rows []Row) report.Finding {
	f := report.Finding{Source: source, Claim: claim, Must: true}
	var names, problems []string
	for _, row := range rows {
		names = append(names, row.Design)
		problems = append(problems, broken(row.Design, row.Trials)...)
	}
	f.Holds = len(problems) == 0
	f.Measured = fmt.Sprintf("no duplicate in %d trials of %s", len(rows[0].Trials), report.List(names))
	if !f.Holds {
		f.Measured = strings.Join(problems, "; ")
	}
	return f
}
