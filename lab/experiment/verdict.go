package experiment

import "fmt"

// Problems says what in the result is not as it must be: a design that promises one charge a payment broke it, or one that does
// not shows no duplicate, so that the demo proves nothing. Empty: the demo shows what it is for.
func (d *DemoResult) Problems() []string {
	var all []string
	for _, r := range d.Storm {
		all = append(all, problems("storm", r)...)
	}
	for _, n := range d.Night {
		all = append(all, problems("night", n.Result)...)
	}
	for _, trials := range d.Barrier {
		all = append(all, problems("barrier", trials...)...)
	}
	return all
}

// problems judges the runs of one design together: one duplicate in all is enough to convict.
func problems(where string, runs ...Result) []string {
	var all []string
	duplicates := 0
	for _, r := range runs {
		duplicates += r.Duplicates
		say := func(format string, args ...any) {
			all = append(all, where+": "+r.Design+": "+fmt.Sprintf(format, args...))
		}
		if r.Failed > 0 {
			say("requests without an answer: %d, the first with: %s", r.Failed, r.FirstFailure)
		}
		if !r.Once {
			continue
		}
		if r.Duplicates > 0 {
			say("duplicate charges: %d, and it promises none", r.Duplicates)
		}
		if r.Missing > 0 {
			say("payments that were never charged: %d", r.Missing)
		}
		if r.Contradicted > 0 {
			say("payments whose answers name more than one charge: %d", r.Contradicted)
		}
	}
	if first := runs[0]; !first.Once && duplicates == 0 {
		all = append(all, where+": "+first.Design+
			": no duplicate charge this time, so the demo proves nothing: send more copies, or let a charge take longer")
	}
	return all
}
