package trials

import "slices"

// Spread is the middle and the ends of some figures.
type Spread struct {
	Median float64 `json:"median"` // of an even number: the mean of the middle two
	Low    float64 `json:"low"`    // the least
	High   float64 `json:"high"`   // the greatest
}

// SpreadOf is the Spread of figures, of which there must be one at least.
func SpreadOf(figures []float64) Spread {
	sorted := slices.Sorted(slices.Values(figures))
	last := len(sorted) - 1
	return Spread{
		Median: (sorted[last/2] + sorted[(last+1)/2]) / 2,
		Low:    sorted[0],
		High:   sorted[last],
	}
}

// Ratio is the Spread of a's figures to b's, each divided by that of the same round: what slowed both does not show in it.
func Ratio(a, b []float64) Spread {
	ratios := make([]float64, len(a))
	for i := range a {
		ratios[i] = a[i] / b[i]
	}
	return SpreadOf(ratios)
}

// Figures takes one figure from each result.
func Figures[T any](results []T, figure func(T) float64) []float64 {
	figures := make([]float64, len(results))
	for i, r := range results {
		figures[i] = figure(r)
	}
	return figures
}
