package throughput

import (
	"context"

	"github.com/pgidem/pgidem/lab/design"
	"github.com/pgidem/pgidem/lab/experiment"
	"github.com/pgidem/pgidem/lab/lineup"
	"github.com/pgidem/pgidem/lab/trials"
	"github.com/pgidem/pgidem/lab/workbench"
)

// Row is how fast one design was.
type Row struct {
	Design            string              `json:"design"`
	Ours              bool                `json:"ours"`
	Article           float64             `json:"article_requests_per_second,omitempty"` // 0: it has none
	Skipped           string              `json:"skipped,omitempty"`                     // why it did not run
	RequestsPerSecond trials.Spread       `json:"requests_per_second,omitzero"`
	TimesRedis        *trials.Spread      `json:"times_redis,omitempty"` // how much faster, trial by trial; none: there was no Redis
	TimesClaim        *trials.Spread      `json:"times_claim,omitempty"`
	Trials            []experiment.Result `json:"trials,omitempty"`
}

// unique sends unique keys through every design, Trials times, by turns, after a turn each that does not count.
func (t *Throughput) unique(ctx context.Context, b *workbench.Bench, l *lineup.Lineup) ([]Row, error) {
	entrants := []struct {
		design  design.Design
		article float64
		skipped string
	}{
		{design: design.None{Pool: l.Pool}},
		{design: l.RedisLock(0), article: 8837, skipped: l.NoRedis},
		{design: l.Claim(0), article: 2993},
		{design: design.Transaction{Pool: l.Pool}, article: 2644},
		{design: design.Do{Store: l.Store}},
		{design: design.HoldRow{Store: l.Store, Pool: l.Pool}},
	}
	var rows []Row
	var ran []int
	var runs []func(context.Context) (experiment.Result, error)
	storm := experiment.Storm{Payments: t.Keys, Copies: 1, Workers: t.Workers}
	for i, e := range entrants {
		name := e.design.Name()
		rows = append(rows, Row{Design: name, Ours: name == do || name == hold, Article: e.article, Skipped: e.skipped})
		if e.skipped == "" {
			ran = append(ran, i)
			runs = append(runs, func(ctx context.Context) (experiment.Result, error) { return storm.Run(ctx, l.Pool, e.design) })
		}
	}
	plan := trials.Plan{Warmups: 1, Turns: t.Trials}
	step, ended := b.Progress("unique keys, turns", plan.Steps(len(runs)))
	defer ended()
	plan.Step = step
	results, err := trials.Run(ctx, plan, runs...)
	if err != nil {
		return nil, err
	}
	for i, row := range ran {
		rows[row].Trials = results[i]
	}
	compare(rows)
	return rows, nil
}

// compare fills in what follows from the trials.
func compare(rows []Row) {
	for i := range rows {
		if len(rows[i].Trials) > 0 {
			rows[i].RequestsPerSecond = trials.SpreadOf(rates(rows[i]))
			rows[i].TimesRedis, rows[i].TimesClaim = ratio(rows, rows[i], redisLock), ratio(rows, rows[i], claim)
		}
	}
}

// ratio is how much faster a is than a design; nil: that did not run.
func ratio(rows []Row, a Row, design string) *trials.Spread {
	for _, b := range rows {
		if b.Design == design && len(b.Trials) > 0 {
			s := trials.Ratio(rates(a), rates(b))
			return &s
		}
	}
	return nil
}

func rates(r Row) []float64 {
	return trials.Figures(r.Trials, func(r experiment.Result) float64 { return r.RequestsPerSecond })
}
