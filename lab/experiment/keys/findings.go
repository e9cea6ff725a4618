package keys

import (
	"fmt"
	"math"
	"strings"

	"github.com/pgidem/pgidem/lab/report"
)

// The kinds as the tables have them.
func (t Table) v4() Kind { return t.Kinds[0] }
func (t Table) v7() Kind { return t.Kinds[1] }

func (r *Result) findings() []report.Finding {
	return []report.Finding{
		r.large(),
		r.works(),
		r.once(),
		r.slower(),
		r.compared(report.Finding{Source: "article 003", Claim: "Time-ordered keys have index locality."},
			"pages read for 1,000 rows", func(k Kind) float64 { return k.perThousand(k.BlocksRead) }),
		r.compared(report.Finding{Source: "pgidem", Must: true,
			Claim: "The index of UUIDv7 keys is smaller: they split no page in the middle."},
			"bytes of index a row", func(k Kind) float64 { return k.perRow(k.IndexBytes) }),
		r.compared(report.Finding{Source: "pgidem", Claim: "UUIDv7 keys write less WAL: fewer pages are logged whole."},
			"bytes of WAL a row", func(k Kind) float64 { return k.perRow(k.WALBytes) }),
		r.compared(report.Finding{Source: "pgidem", Claim: "UUIDv7 keys are inserted faster once the index has outgrown its memory."},
			"microseconds a row", func(k Kind) float64 { return k.Seconds * 1e6 / float64(k.Rows) }),
	}
}

// large is what the experiment stands on.
func (r *Result) large() report.Finding {
	least := math.Inf(1)
	for _, t := range r.Tables {
		for _, k := range t.Kinds {
			least = min(least, float64(k.IndexBytes)/float64(r.SharedBuffersBytes))
		}
	}
	return report.Finding{
		Source:   "pgidem",
		Claim:    fmt.Sprintf("Every index of this experiment is at least %d times as large as shared_buffers.", timesLarger),
		Measured: fmt.Sprintf("the smallest is %.1f times as large", least),
		Holds:    least >= timesLarger,
		Must:     true,
	}
}

// works is the article's: A V4 UUID works.
func (r *Result) works() report.Finding {
	f := report.Finding{Source: "article 003", Claim: "Use random keys. A V4 UUID works.", Must: true}
	inserted, stand := 0, 0
	for _, t := range r.Tables {
		inserted += r.Rows
		stand += t.v4().Rows
	}
	paid := r.Payments[0]
	f.Holds = stand == inserted && paid.good()
	f.Measured = fmt.Sprintf("of %s UUIDv4 keys %s were taken for one that was there; "+
		"%s payments under such keys, each sent twice, made %s charges",
		report.Number(inserted), report.Number(inserted-stand), report.Number(paid.Payments), report.Number(paid.Charges))
	return f
}

// once is the product's promise, for either kind.
func (r *Result) once() report.Finding {
	f := report.Finding{Source: "pgidem", Claim: "A payment is charged once, whichever kind of UUID its key is.", Must: true}
	f.Holds = true
	var all []string
	for _, p := range r.Payments {
		f.Holds = f.Holds && p.good()
		all = append(all, fmt.Sprintf("%s payments with %s, each sent twice: %s charges, %s replays",
			report.Number(p.Payments), p.Kind, report.Number(p.Charges), report.Number(p.Replays)))
	}
	f.Measured = strings.Join(all, "; ")
	return f
}

// good reports that each payment was charged once, and its other copy told so or sent away.
func (p Payments) good() bool {
	return p.Charges == p.Payments && p.Duplicates == 0 && p.Missing == 0 && p.Replays+p.InFlight == p.Payments
}

// What the title of the article that 003 refers to says of UUIDv4 keys.
const (
	articleTimes = 22
	articleRows  = "11 million rows"
)

// slower holds the article's figure beside this run's.
func (r *Result) slower() report.Finding {
	f := report.Finding{
		Source: "article 003",
		Claim:  fmt.Sprintf("UUIDv4 keys are %d times slower (%s, measured in another article).", articleTimes, articleRows),
	}
	var times []string
	for _, t := range r.Tables {
		ratio := t.v4().Seconds / t.v7().Seconds
		f.Holds = f.Holds || ratio >= articleTimes
		times = append(times, fmt.Sprintf("%.1f times in %s", ratio, t.Name))
	}
	f.Measured = fmt.Sprintf("%s rows: %s", report.Number(r.Rows), strings.Join(times, ", "))
	return f
}

// compared is a finding that UUIDv7 keys take less of something, in every table.
func (r *Result) compared(f report.Finding, what string, figure func(Kind) float64) report.Finding {
	f.Holds = true
	var all []string
	for _, t := range r.Tables {
		v4, v7 := figure(t.v4()), figure(t.v7())
		f.Holds = f.Holds && v7 < v4
		all = append(all, fmt.Sprintf("%s with UUIDv4, %s with UUIDv7 in %s", short(v4), short(v7), t.Name))
	}
	f.Measured = what + ": " + strings.Join(all, "; ")
	return f
}

func (k Kind) perRow(n int64) float64      { return float64(n) / float64(k.Rows) }
func (k Kind) perThousand(n int64) float64 { return 1000 * k.perRow(n) }

// short writes a figure with two digits at least, as long as there are some.
func short(f float64) string {
	if f < 10 {
		return fmt.Sprintf("%.1f", f)
	}
	return report.Number(int(f + 0.5))
}
