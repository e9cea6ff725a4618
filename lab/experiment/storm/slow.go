package storm

import (
	"context"

	"github.com/pgidem/pgidem/lab/design"
	"github.com/pgidem/pgidem/lab/experiment"
	"github.com/pgidem/pgidem/lab/lineup"
	"github.com/pgidem/pgidem/lab/trials"
	"github.com/pgidem/pgidem/lab/workbench"
)

// Series is the duplicates of one design as its charges take longer.
type Series struct {
	Design string  `json:"design"`
	Points []Point `json:"points"` // by delay
}

// Point is the storms at one delay.
type Point struct {
	DelaySeconds float64             `json:"delay_seconds"`
	Duplicates   trials.Spread       `json:"duplicates"`
	Trials       []experiment.Result `json:"trials"`
}

// slow sends smaller storms through check-then-act and the product, at each of the Delays, Trials times, by turns.
func (s *Storm) slow(ctx context.Context, b *workbench.Bench, l *lineup.Lineup) ([]Series, error) {
	var designs []design.Design
	for _, delay := range s.Delays {
		designs = append(designs,
			design.CheckThenAct{Pool: l.Pool, Delay: delay},
			design.Do{Store: l.Store, Delay: delay},
			design.Hold{Store: l.Store, Processor: design.Processor{Pool: l.Pool, Delay: delay}},
		)
	}
	results, err := s.byTurns(ctx, b, l, "slower and slower charges", s.DelayKeys, designs)
	if err != nil {
		return nil, err
	}
	series := make([]Series, len(designs)/len(s.Delays))
	for i, d := range designs {
		one, delay := &series[i%len(series)], s.Delays[i/len(series)]
		one.Design = d.Name()
		one.Points = append(one.Points, Point{delay.Seconds(), spreadOf(results[i]), results[i]})
	}
	return series, nil
}
