package sweep

import "github.com/pgidem/pgidem/lab/trials"

// Result is what was measured.
type Result struct {
	Rows       int `json:"rows"`       // expired keys, before the sweep
	Beside     int `json:"beside"`     // finished keys that had not expired
	Unfinished int `json:"unfinished"` // keys that nobody had finished
	Batch      int `json:"batch"`      // keys that one statement may delete
	Rate       int `json:"rate"`       // claims a second

	FillSeconds float64       `json:"fill_seconds"`
	FindSeconds trials.Spread `json:"find_seconds"` // to find the abandoned keys, before the sweep

	Warmup      Claims        `json:"warm_up"` // claims before the pairs
	Pairs       []Pair        `json:"pairs"`
	BesideAll   Pass          `json:"beside_claims"` // all sweeps of the pairs
	Alone       Pass          `json:"alone"`         // the sweep of the rest
	MedianRatio trials.Spread `json:"median_ratio"`  // of claims beside a sweep to those without, pair by pair
	P95Ratio    trials.Spread `json:"p95_ratio"`

	Left          Keys    `json:"left"` // after the last sweep
	States        []State `json:"states"`
	VacuumSeconds float64 `json:"vacuum_seconds"`
}

// compare fills in what follows from the pairs.
func (r *Result) compare() {
	ratio := func(figure func(Claims) float64) trials.Spread {
		beside := trials.Figures(r.Pairs, func(p Pair) float64 { return figure(p.Beside) })
		return trials.Ratio(beside, trials.Figures(r.Pairs, func(p Pair) float64 { return figure(p.Without) }))
	}
	r.MedianRatio, r.P95Ratio = ratio(median), ratio(p95)
}

func median(c Claims) float64 { return c.MedianSeconds }
func p95(c Claims) float64    { return c.P95Seconds }

// claims counts all of them, and those that failed.
func (r *Result) claims() (calls, failed int, first string) {
	all := []Claims{r.Warmup}
	for _, p := range r.Pairs {
		all = append(all, p.Beside, p.Without)
	}
	for _, c := range all {
		calls += c.Calls
		failed += c.Failed
		if first == "" {
			first = c.FirstFailure
		}
	}
	return calls, failed, first
}
