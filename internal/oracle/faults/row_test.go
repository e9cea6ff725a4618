package faults_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// row is what one fault did.
type row struct {
	fault         string
	times         int // that it struck
	lasted        time.Duration
	keys, effects int
	asked         int // the processor, about abandoned keys
	abandoned     int // keys, until they were called for once Settle had passed
	unresolved    int // after that call
	calls         int
	errors        map[string]int
	// From the end of the fault, at the processes that it struck: until an answer, until requests are served again as they come,
	// and until all that came before that have an answer.
	first, rate, all time.Duration
}

func (s *stage) row(f fault, times int) row {
	s.Helper()
	r := row{
		fault: f.name, times: times, lasted: s.ended.Sub(s.began),
		keys: len(s.load.ids), calls: len(s.load.tries), errors: make(map[string]int),
		abandoned: s.abandoned(), asked: s.cards.questions(),
	}
	var struck []try
	for _, t := range s.load.tries {
		if t.kind != "" {
			r.errors[t.kind]++
		}
		if t.request%len(s.processes) < f.struck {
			struck = append(struck, t)
		}
	}
	if !s.recovery(&r, struck) {
		s.Errorf("%s: requests were not served again", f.name)
	}
	return r
}

// recovery looks at the tries after the fault. false: a whole second in which 9 of 10 new requests were served was not seen.
func (s *stage) recovery(r *row, tries []try) (ok bool) {
	slices.SortFunc(tries, func(a, b try) int { return a.ended.Compare(b.ended) })
	if i := slices.IndexFunc(tries, func(t try) bool { return t.kind == "" && !t.ended.Before(s.ended) }); i >= 0 {
		r.first = tries[i].ended.Sub(s.ended)
	}
	for _, t := range tries {
		if t.kind == "" && t.began.Before(s.ended) {
			r.all = max(r.all, t.ended.Sub(s.ended))
		}
	}
	fresh := slices.DeleteFunc(tries, func(t try) bool { return t.number > 0 || t.began.Before(s.ended) })
	slices.SortFunc(fresh, func(a, b try) int { return a.began.Compare(b.began) })
	for i, t := range fresh {
		second := fresh[i:]
		if j := slices.IndexFunc(second, func(later try) bool { return later.began.Sub(t.began) >= time.Second }); j >= 0 {
			served := slices.DeleteFunc(slices.Clone(second[:j]), func(t try) bool { return t.kind != "" && t.kind != inFlight })
			if 10*len(served) >= 9*j {
				r.rate = t.began.Sub(s.ended)
				return true
			}
		}
	}
	return false
}

// table prints the rows.
func table(rows []row) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "fault\ttimes\tlasted\tkeys\teffects\tcalls\tasked\tabandoned\tunresolved\tfirst success\tserved again\tall answered\terrors")
	for _, r := range rows {
		var errs []string
		for _, kind := range slices.Sorted(maps.Keys(r.errors)) {
			errs = append(errs, fmt.Sprintf("%d %s", r.errors[kind], kind))
		}
		if errs == nil {
			errs = []string{"none"}
		}
		fmt.Fprintf(w, "%s\t%d\t%s\t%d\t%d\t%d\t%d\t%d\t%d\t%s\t%s\t%s\t%s\n", r.fault, r.times, seconds(r.lasted), r.keys, r.effects, r.calls,
			r.asked, r.abandoned, r.unresolved, seconds(r.first), seconds(r.rate), seconds(r.all), strings.Join(errs, ", "))
	}
	_ = w.Flush() // into memory
	return b.String()
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }
