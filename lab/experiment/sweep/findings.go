package sweep

import (
	"fmt"

	"github.com/pgidem/pgidem/lab/report"
	"github.com/pgidem/pgidem/lab/trials"
)

const source = "pgidem"

// findings are what logic decides, and then the speeds.
func (r *Result) findings() []report.Finding {
	return []report.Finding{
		r.everyExpiredKeyIsGone(),
		r.noOtherKeyIsGone(),
		r.noClaimFails(),
		r.batchesAreBounded(),
		{
			Source: source, Claim: "A sweep deletes at least 20,000 keys a second. (Target of issue 7.)",
			Measured: report.Number(int(r.Alone.rate())) + " a second alone, " + report.Number(int(r.BesideAll.rate())) + " beside claims",
			Holds:    r.Alone.rate() >= 20_000,
		},
		r.claimsDoNotWait(),
		{
			Source: source, Claim: "Abandoned keys are found in under 5 ms. (Target of issue 7, among ten million keys.)",
			Measured: fmt.Sprintf("%s ms among %s", milliseconds(r.FindSeconds), report.Number(r.Rows+r.Beside+r.Unfinished)),
			Holds:    r.FindSeconds.Median < 0.005,
		},
	}
}

func milliseconds(s trials.Spread) string {
	return trials.Spread{Median: s.Median * 1000, Low: s.Low * 1000, High: s.High * 1000}.Decimal()
}

func (r *Result) everyExpiredKeyIsGone() report.Finding {
	swept := int(r.BesideAll.Deleted + r.Alone.Deleted)
	return report.Finding{
		Source: source, Claim: "A sweep deletes every expired key.", Must: true,
		Measured: fmt.Sprintf("%s of %s deleted, %s left", report.Number(swept), report.Number(r.Rows), report.Number(r.Left.Expired)),
		Holds:    r.Left.Expired == 0 && swept == r.Rows,
	}
}

func (r *Result) noOtherKeyIsGone() report.Finding {
	claimed, failed, _ := r.claims()
	live := r.Beside + claimed - failed
	return report.Finding{
		Source: source, Claim: "A sweep deletes no key that is alive or unfinished.", Must: true,
		Measured: fmt.Sprintf("%s of %s live ones and %s of %s unfinished ones stand", report.Number(r.Left.Live), report.Number(live),
			report.Number(r.Left.Unfinished), report.Number(r.Unfinished)),
		Holds: r.Left.Live == live && r.Left.Unfinished == r.Unfinished,
	}
}

func (r *Result) noClaimFails() report.Finding {
	claimed, failed, first := r.claims()
	f := report.Finding{
		Source: source, Claim: "No claim fails beside a sweep.", Must: true,
		Measured: report.Number(claimed) + " claims", Holds: failed == 0,
	}
	if !f.Holds {
		f.Measured = fmt.Sprintf("%s of %s failed, the first with %s", report.Number(failed), f.Measured, first)
	}
	return f
}

func (r *Result) batchesAreBounded() report.Finding {
	largest := max(r.Alone.LargestBatch, r.BesideAll.LargestBatch)
	return report.Finding{
		Source: source, Must: true,
		Claim: fmt.Sprintf("No statement of a sweep deletes more than its batch of %s keys.", report.Number(r.Batch)),
		Measured: fmt.Sprintf("%s at most, in %s statements", report.Number(int(largest)),
			report.Number(int(r.Alone.Batches+r.BesideAll.Batches))),
		Holds: largest <= int64(r.Batch),
	}
}

// claimsDoNotWait compares claims with a statement of the sweep, which a claim that had to wait for a deleted row would sit out.
func (r *Result) claimsDoNotWait() report.Finding {
	beside, _ := r.halves(p95)
	statement := r.BesideAll.Seconds / float64(r.BesideAll.Batches) * 1000
	return report.Finding{
		Source: source, Claim: "Claims do not wait for a sweep: 95 of 100 take less time than one of its statements.",
		Measured: fmt.Sprintf("%s ms, a statement %.0f ms; beside a sweep a claim takes %s times as long in the median, and 95 of 100 at "+
			"most %s times", beside.Decimal(), statement, r.MedianRatio.Decimal(), r.P95Ratio.Decimal()),
		Holds: beside.Median < statement,
	}
}
