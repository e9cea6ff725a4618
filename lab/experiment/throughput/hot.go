package throughput

import (
	"context"

	"github.com/pgidem/pgidem/lab/design"
	"github.com/pgidem/pgidem/lab/experiment"
	"github.com/pgidem/pgidem/lab/lineup"
	"github.com/pgidem/pgidem/lab/trials"
	"github.com/pgidem/pgidem/lab/workbench"
)

// Hot is what one design does with waves of callers who all come with one new key, beside waves of as many who each come with a
// key of their own.
type Hot struct {
	Design       string        `json:"design"`
	OneKey       Waves         `json:"one_key"`
	DistinctKeys Waves         `json:"distinct_keys"`
	Ratio        trials.Spread `json:"one_key_to_distinct_keys"` // of the seconds, wave by wave
}

// Waves are waves of one kind.
type Waves struct {
	Seconds trials.Spread       `json:"seconds"` // until all callers of a wave have their answer
	Waves   []experiment.Result `json:"waves"`
}

// hot sends both kinds through the designs in PostgreSQL, by turns.
func (t *Throughput) hot(ctx context.Context, b *workbench.Bench, l *lineup.Lineup) ([]Hot, error) {
	designs := []design.Design{
		l.Claim(0),
		design.Transaction{Pool: l.Pool},
		design.Do{Store: l.Store},
		design.HoldRow{Store: l.Store, Pool: l.Pool},
	}
	oneKey := experiment.Storm{Payments: 1, Copies: t.Workers, Workers: t.Workers}
	distinct := experiment.Storm{Payments: t.Workers, Copies: 1, Workers: t.Workers}
	var runs []func(context.Context) (experiment.Result, error)
	for _, d := range designs {
		for _, wave := range []experiment.Storm{oneKey, distinct} {
			runs = append(runs, func(ctx context.Context) (experiment.Result, error) { return wave.Run(ctx, l.Pool, d) })
		}
	}
	plan := trials.Plan{Warmups: 1, Turns: t.Waves}
	step, ended := b.Progress("one hot key, waves", plan.Steps(len(runs)))
	defer ended()
	plan.Step = step
	results, err := trials.Run(ctx, plan, runs...)
	if err != nil {
		return nil, err
	}
	var all []Hot
	for i, d := range designs {
		all = append(all, hotOf(d.Name(), results[2*i], results[2*i+1]))
	}
	return all, nil
}

func hotOf(design string, oneKey, distinct []experiment.Result) Hot {
	seconds := func(r experiment.Result) float64 { return r.Seconds }
	one, other := trials.Figures(oneKey, seconds), trials.Figures(distinct, seconds)
	return Hot{
		Design:       design,
		OneKey:       Waves{trials.SpreadOf(one), oneKey},
		DistinctKeys: Waves{trials.SpreadOf(other), distinct},
		Ratio:        trials.Ratio(one, other),
	}
}
