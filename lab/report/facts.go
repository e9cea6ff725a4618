package report

import (
	"fmt"
	"time"

	"github.com/pgidem/pgidem/lab/machine"
)

// Fact is something about the run.
type Fact struct{ Name, Value string }

// Facts are what the figures belong to.
func (p Page) Facts() []Fact {
	m := p.Machine
	return []Fact{
		{"Processor", m.CPU},
		{"Cores", Number(m.Cores)},
		{"Memory", memory(m.MemoryBytes)},
		{"System", m.OS},
		{"PostgreSQL", version(p.PostgreSQL)},
		{"Redis", version(p.Redis)},
		{"Go", m.Go},
		{"Commit", commit(m)},
		{"Date", p.Began.UTC().Format("2 January 2006, 15:04 UTC")},
		{"Took", Took(p.Took)},
	}
}

func memory(bytes int64) string {
	if bytes == 0 {
		return machine.Unknown
	}
	return fmt.Sprintf("%.1f GiB", float64(bytes)/(1<<30))
}

func version(v string) string {
	if v == "" {
		return "not used"
	}
	return v
}

func commit(m machine.Machine) string {
	c := m.Commit
	if len(c) > 12 {
		c = c[:12]
	}
	if m.Changed {
		c += ", with changes"
	}
	return c
}

// Took writes how long something took, such as 0.4 s, 38 s or 12 min 5 s.
func Took(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d.Round(time.Second) < time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	}
	whole := int(d.Round(time.Second).Seconds())
	return fmt.Sprintf("%d min %d s", whole/60, whole%60)
}

// source is an article whose experiments are repeated.
type source struct{ Name, Title string }

var sources = []source{
	{"article 000", "Idempotency Keys: What Stripe and Shopify Actually Do"},
	{"article 003", "Idempotency keys: check-then-insert double-charged 216 times"},
	{"article 004", "You Saved the Idempotency Key After the Charge, So the Retry Charged Again"},
}
