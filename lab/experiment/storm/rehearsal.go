package storm

import (
	"context"

	"github.com/pgidem/pgidem/lab/design"
	"github.com/pgidem/pgidem/lab/experiment"
	"github.com/pgidem/pgidem/lab/lineup"
	"github.com/pgidem/pgidem/lab/workbench"
)

// Rehearsal is what a team may test check-then-act with before customers do.
type Rehearsal struct {
	Test    string            `json:"test"`
	Workers int               `json:"workers"`
	Result  experiment.Result `json:"result"`
}

// The rehearsals: none of them has copies that overlap.
const (
	unitTest    = "a unit test: one request"
	uniqueKeys  = "a load test: unique keys, no retries"
	oneByOne    = "retries, one after the other"
	oneByOneMax = 50 // payments: they take their time
)

// rehearse sends what tests send through check-then-act, with the storm's delay.
func (s *Storm) rehearse(ctx context.Context, b *workbench.Bench, l *lineup.Lineup) ([]Rehearsal, error) {
	d := design.CheckThenAct{Pool: l.Pool, Delay: s.Delay}
	tests := []struct {
		name  string
		storm experiment.Storm
	}{
		{unitTest, experiment.Storm{Payments: 1, Copies: 1, Workers: 1}},
		{uniqueKeys, experiment.Storm{Payments: s.Keys, Copies: 1, Workers: s.Workers}},
		{oneByOne, experiment.Storm{Payments: min(s.Keys, oneByOneMax), Copies: s.Copies, Workers: 1}},
	}
	requests := 0
	for _, t := range tests {
		requests += t.storm.Payments * t.storm.Copies
	}
	sent, ended := b.Progress("what tests send", requests)
	defer ended()
	var all []Rehearsal
	for _, t := range tests {
		t.storm.Sent = sent
		r, err := t.storm.Run(ctx, l.Pool, d)
		if err != nil {
			return nil, err
		}
		all = append(all, Rehearsal{Test: t.name, Workers: t.storm.Workers, Result: r})
	}
	return all, nil
}
