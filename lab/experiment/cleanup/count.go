package cleanup

import (
	"fmt"
	"strings"
)

// of is a design's result under a fault; the zero value where it was not run.
func (r *Result) of(name, fault string) Design {
	for _, d := range r.Designs {
		if d.Variant == (Variant{name, fault}) {
			return d
		}
	}
	return Design{}
}

// all reports whether so many are all keys of the design.
func (d Design) all(n int) bool { return d.Keys > 0 && n == d.Keys }

// retryCharges reports whether every key was charged by the second request, and never again.
func (d Design) retryCharges() bool {
	return d.all(d.told(atOnce, charged.String())) && d.once()
}

// once reports whether every client was told in the end that it has bought, and every key was charged once.
func (d Design) once() bool {
	return d.all(d.Completed) && d.Charges == d.Keys && d.ChargedTwice == 0 && d.Dead == 0
}

// dead reports whether every later request was told that somebody is at work.
func (d Design) dead() bool {
	for _, when := range []string{atOnce, aLeaseLater, aYearLater} {
		if !d.all(d.told(when, inProgress.String())) {
			return false
		}
	}
	return d.all(d.Dead)
}

// measured says what became of the keys.
func (d Design) measured() string {
	text := fmt.Sprintf("%d of %d charged by the retry", d.told(atOnce, charged.String()), d.Keys)
	if d.Dead > 0 {
		text += fmt.Sprintf(", %d dead", d.Dead)
	}
	return text + fmt.Sprintf(", %d charged twice", d.ChargedTwice)
}

// vanished are a handler's results with rows deleted so often; 0: any number of times.
func (r *Result) vanished(handler string, times int) (all []Vanishing) {
	for _, v := range r.Vanished {
		if v.Handler == handler && (times == 0 || v.Times == times) {
			all = append(all, v)
		}
	}
	return all
}

// count is of how many something is so.
func count(all []Vanishing, is func(Vanishing) bool) (n int) {
	for _, v := range all {
		if is(v) {
			n++
		}
	}
	return n
}

// every reports whether there is one, and something is so of all.
func every(all []Vanishing, is func(Vanishing) bool) bool {
	return len(all) > 0 && count(all, is) == len(all)
}

// measured says what the requests were told.
func measured(all []Vanishing) string {
	var texts []string
	for _, v := range all {
		texts = append(texts, fmt.Sprintf("%s (looks: %d, the row deleted by %s)", v.Answer, v.Looks, v.By))
	}
	return strings.Join(texts, "; ") + "."
}
