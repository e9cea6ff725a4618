package storm

import (
	"context"

	"github.com/pgidem/pgidem/lab/design"
	"github.com/pgidem/pgidem/lab/experiment"
	"github.com/pgidem/pgidem/lab/lineup"
	"github.com/pgidem/pgidem/lab/trials"
	"github.com/pgidem/pgidem/lab/workbench"
)

// Row is what one design did in the storm.
type Row struct {
	Design            string              `json:"design"`
	Article           *Article            `json:"article,omitempty"` // none: a design of ours
	Skipped           string              `json:"skipped,omitempty"` // why it did not run
	Duplicates        *trials.Spread      `json:"duplicates,omitempty"`
	RequestsPerSecond trials.Spread       `json:"requests_per_second,omitzero"`
	Trials            []experiment.Result `json:"trials,omitempty"`
}

// storms sends the storm through every design, Trials times, by turns.
func (s *Storm) storms(ctx context.Context, b *workbench.Bench, l *lineup.Lineup) ([]Row, error) {
	var rows []Row
	var designs []design.Design
	for _, e := range entrants(l, s.Delay) {
		rows = append(rows, Row{Design: e.Name(), Article: e.article, Skipped: e.skipped})
		if e.skipped == "" {
			designs = append(designs, e.Design)
		}
	}
	results, err := s.byTurns(ctx, b, l, "storm", s.Keys, designs)
	if err != nil {
		return nil, err
	}
	for i := range rows {
		if rows[i].Skipped == "" {
			rows[i].Trials, results = results[0], results[1:]
			rows[i].spread()
		}
	}
	return rows, nil
}

// byTurns sends a storm of so many payments through each design, Trials times.
func (s *Storm) byTurns(
	ctx context.Context, b *workbench.Bench, l *lineup.Lineup, name string, keys int, designs []design.Design,
) ([][]experiment.Result, error) {
	sent, ended := b.Progress(name, len(designs)*s.Trials*keys*s.Copies)
	defer ended()
	storm := experiment.Storm{Payments: keys, Copies: s.Copies, Workers: s.Workers, Sent: sent}
	var runs []func(context.Context) (experiment.Result, error)
	for _, d := range designs {
		runs = append(runs, func(ctx context.Context) (experiment.Result, error) { return storm.Run(ctx, l.Pool, d) })
	}
	return trials.Run(ctx, trials.Plan{Turns: s.Trials}, runs...)
}

// spread fills in what follows from the trials.
func (r *Row) spread() {
	duplicates := spreadOf(r.Trials)
	r.Duplicates = &duplicates
	r.RequestsPerSecond = trials.SpreadOf(trials.Figures(r.Trials, func(r experiment.Result) float64 { return r.RequestsPerSecond }))
}

// spreadOf is the Spread of duplicates.
func spreadOf(results []experiment.Result) trials.Spread {
	return trials.SpreadOf(trials.Figures(results, func(r experiment.Result) float64 { return float64(r.Duplicates) }))
}
