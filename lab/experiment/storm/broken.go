package storm

import (
	"fmt"

	"github.com/pgidem/pgidem/lab/experiment"
	"github.com/pgidem/pgidem/lab/report"
)

// broken says what in a design's storms is not as one charge a payment has it; empty: nothing.
func broken(design string, results []experiment.Result) []string {
	var all []string
	for _, t := range results {
		say := func(count int, what, more string) {
			if count > 0 {
				all = append(all, fmt.Sprintf("%s: %s: %s%s", design, what, report.Number(count), more))
			}
		}
		say(t.Duplicates, "duplicate charges", "")
		say(t.Missing, "payments that were never charged", "")
		say(t.Contradicted, "payments whose answers name more than one charge", "")
		say(t.Failed, "requests without an answer", ", the first with: "+t.FirstFailure)
	}
	return all
}
