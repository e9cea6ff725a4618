package race

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pgidem/pgidem/lab/experiment"
	"github.com/pgidem/pgidem/lab/report"
)

// Result is what the race measured.
type Result struct {
	Workers      int         `json:"workers"`
	Trials       int         `json:"trials"`
	DelaySeconds float64     `json:"delay_seconds"`
	Designs      []Design    `json:"designs"`
	Rounds       int         `json:"rounds"`
	RoundSeconds float64     `json:"round_seconds"`
	Bystanders   []Bystander `json:"bystanders"`
}

// Design is what the workers made of one design. The trials' own names and promises are those of its parts.
type Design struct {
	Name     string            `json:"design"`
	Kind     Kind              `json:"kind"`
	Article  *Article          `json:"article_000,omitempty"` // nil: it has no such figure
	RunAgain int               `json:"run_again"`             // transactions, in all trials, after a 40001
	Trials   experiment.Trials `json:"trials"`
}

// Kind is what a design is there to show.
type Kind string

const (
	Naive   Kind = "naive"   // it charges again
	Halfway Kind = "halfway" // it charges once, and leaves something else wrong
	Safe    Kind = "safe"    // it charges once and answers everybody
	Ours    Kind = "ours"    // so does the product
)

// Article is what article 000 says of eight workers, in the worst of three trials.
type Article struct {
	Charges int    `json:"charges"`
	Cents   int64  `json:"amount_cents"`
	Errors  string `json:"errors,omitempty"` // such as: 40001 × 7
}

func (a *Article) String() string {
	if a == nil {
		return "–"
	}
	text := fmt.Sprintf("%d × = %s", a.Charges, report.Dollars(a.Cents))
	if a.Errors != "" {
		text += ", " + a.Errors
	}
	return text
}

// design is the one of that name; without trials where the result has none.
func (r *Result) design(name string) Design {
	for _, d := range r.Designs {
		if d.Name == name {
			return d
		}
	}
	return Design{Name: name}
}

// worst is the trial that took the most money.
func (d Design) worst() experiment.Result {
	if len(d.Trials) == 0 {
		return experiment.Result{}
	}
	return slices.MaxFunc(d.Trials, func(a, b experiment.Result) int { return cmp.Compare(a.AmountCents, b.AmountCents) })
}

// sum adds up something of every trial.
func (d Design) sum(of func(experiment.Result) int) int {
	n := 0
	for _, t := range d.Trials {
		n += of(t)
	}
	return n
}

// each reports whether something is so in every trial, of which there is one at least.
func (d Design) each(is func(experiment.Result) bool) bool {
	return len(d.Trials) > 0 && !slices.ContainsFunc(d.Trials, func(t experiment.Result) bool { return !is(t) })
}

// charges lists those of each trial.
func (d Design) charges() string {
	var all []string
	for _, t := range d.Trials {
		all = append(all, report.Number(t.Charges))
	}
	return strings.Join(all, ", ")
}

// answers says what callers were told in all trials together, such as: charged × 3, 40001 × 21.
func (d Design) answers() string {
	var all []string
	add := func(what string, n int) {
		if n > 0 {
			all = append(all, what+" × "+report.Number(n))
		}
	}
	states := map[string]int{}
	for _, t := range d.Trials {
		for state, n := range t.SQLStates {
			states[state] += n
		}
	}
	other := d.sum(func(t experiment.Result) int { return t.Failed })
	add("charged", d.sum(func(t experiment.Result) int { return t.Charged }))
	add("replayed", d.sum(func(t experiment.Result) int { return t.Replays }))
	add("409", d.sum(func(t experiment.Result) int { return t.InFlight }))
	for _, state := range slices.Sorted(maps.Keys(states)) {
		add(state, states[state])
		other -= states[state]
	}
	add("other error", other)
	return strings.Join(all, ", ")
}

// says is what a finding quotes of the design.
func (d Design) says() string {
	if len(d.Trials) == 0 {
		return "nothing: it did not run"
	}
	return fmt.Sprintf("charges in each trial: %s, %s in the worst; answers in all of them: %s",
		d.charges(), report.Dollars(d.worst().AmountCents), d.answers())
}
