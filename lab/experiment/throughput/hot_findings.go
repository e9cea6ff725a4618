package throughput

import (
	"fmt"

	"github.com/pgidem/pgidem/lab/report"
	"github.com/pgidem/pgidem/lab/trials"
)

func (r *Result) oneCallerWins(source, claim string, designs ...string) report.Finding {
	var problems []string
	waves, callers := 0, 0
	for _, d := range designs {
		for _, w := range r.hot(d).OneKey.Waves {
			waves++
			callers = w.Requests
			problems = append(problems, broken(d, w)...)
		}
	}
	return must(source, claim, fmt.Sprintf("%d charges in %d waves of %d callers of one key each, with %s", waves, waves, callers,
		report.List(designs)), problems)
}

// retriesQueue is what the article names and did not test.
func (r *Result) retriesQueue() report.Finding {
	c := r.crowd(transaction)
	return report.Finding{
		Source: article, Claim: "On one hot key, waiting retries queue behind the winner (named there, not tested).",
		Measured: fmt.Sprintf("with the transaction, a caller of another key that comes behind them waits %s ms, by itself %s ms",
			milliseconds(c.BesideSeconds).Whole(), milliseconds(c.AloneSeconds).Whole()),
		Holds: c.BesideSeconds.Median > c.AloneSeconds.Median,
	}
}

func (r *Result) hotKeyIsCheap() report.Finding {
	a, b := r.hot(do).Ratio, r.hot(hold).Ratio
	return report.Finding{
		Source: product, Claim: "A wave of callers of one key is no slower than one of distinct keys.",
		Measured: fmt.Sprintf("%s times as long with %s, %s with %s", a.Decimal(), do, b.Decimal(), hold),
		Holds:    max(a.Median, b.Median) <= 1,
	}
}

func (r *Result) nobodyElseWaits() report.Finding {
	f := report.Finding{
		Source: product, Holds: true,
		Claim: "A hot key keeps nobody else waiting as a transaction does: its callers hold no connection.",
	}
	var waits []string
	for _, d := range []string{do, hold, transaction} {
		c := r.crowd(d)
		f.Holds = f.Holds && (d == transaction || c.BesideSeconds.Median < r.crowd(transaction).BesideSeconds.Median)
		waits = append(waits, fmt.Sprintf("%s ms with %s", milliseconds(c.BesideSeconds).Whole(), d))
	}
	f.Measured = report.List(waits)
	return f
}

func milliseconds(s trials.Spread) trials.Spread {
	return trials.Spread{Median: s.Median * 1000, Low: s.Low * 1000, High: s.High * 1000}
}
