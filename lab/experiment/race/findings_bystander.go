package race

import (
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/pgidem/pgidem/lab/report"
)

// The bystanders, by what runs under which isolation.
var (
	baseline = Bystander{Isolation: pgx.ReadCommitted, Payments: pgx.ReadCommitted}
	beside   = Bystander{Isolation: pgx.ReadCommitted, Payments: pgx.Serializable}
	inside   = Bystander{Isolation: pgx.Serializable, Payments: pgx.Serializable}
)

// bystander is the one that ran as b did; without rounds where the result has none.
func (r *Result) bystander(b Bystander) Bystander {
	for _, ran := range r.Bystanders {
		if ran.Isolation == b.Isolation && ran.Payments == b.Payments {
			return ran
		}
	}
	return b
}

// again says how often payments had to run again.
func (b Bystander) again() string {
	return fmt.Sprintf("%s transactions were run again for %s payments", report.Number(b.RunAgain), report.Number(b.Paid))
}

// rate is what the bystander does in a round, as a part of what it does in the same round while nothing is SERIALIZABLE: the
// median of all rounds, or 0 without any.
func (r *Result) rate(b Bystander) float64 {
	base := r.bystander(baseline).PerSecond
	var ratios []float64
	for i, rate := range r.bystander(b).PerSecond {
		if i < len(base) && base[i] > 0 {
			ratios = append(ratios, rate/base[i])
		}
	}
	_, median, _ := quartiles(ratios)
	return median
}

func (r *Result) tracking() report.Finding {
	b, serial := r.bystander(beside), r.bystander(inside)
	return report.Finding{
		Source: "article 000",
		Claim:  "SERIALIZABLE costs SSI's tracking on every transaction in the database, not just this one.",
		Measured: fmt.Sprintf("next to SERIALIZABLE payments a READ COMMITTED transaction held %d predicate locks, and "+
			"%.2f times as many a second were done as next to READ COMMITTED ones; a SERIALIZABLE one held %d, and %.2f "+
			"times as many were done",
			b.PredicateLocks, r.rate(beside), serial.PredicateLocks, r.rate(inside)),
		Holds: b.PredicateLocks > 0,
	}
}

func (r *Result) bystanderPays() report.Finding {
	b := r.bystander(inside)
	return report.Finding{
		Source: "article 000",
		Claim:  "Under SERIALIZABLE also a transaction pays that has nothing to do with the key.",
		Measured: fmt.Sprintf("it held %d predicate locks, and %.2f times as many were done as while nothing is SERIALIZABLE",
			b.PredicateLocks, r.rate(inside)),
		Holds: b.PredicateLocks > 0 && r.rate(inside) < 1,
	}
}
