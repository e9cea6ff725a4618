package trials

import (
	"fmt"
	"math"

	"github.com/pgidem/pgidem/lab/report"
)

// Whole writes whole numbers: 3,881 (3,790–4,012), or 4,000 where all are the same.
func (s Spread) Whole() string {
	return s.text(func(f float64) string { return report.Number(int(math.Round(f))) })
}

// Decimal writes numbers with two decimal places: 2.95 (2.80–3.10).
func (s Spread) Decimal() string {
	return s.text(func(f float64) string { return fmt.Sprintf("%.2f", f) })
}

func (s Spread) text(number func(float64) string) string {
	low, high := number(s.Low), number(s.High)
	if low == high {
		return low
	}
	return fmt.Sprintf("%s (%s–%s)", number(s.Median), low, high)
}
