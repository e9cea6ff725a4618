package throughput

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/pgidem/pgidem/lab/design"
	"github.com/pgidem/pgidem/lab/lineup"
	"github.com/pgidem/pgidem/lab/trials"
	"github.com/pgidem/pgidem/lab/workbench"
)

// Crowd is how long one caller with a key of its own waits when it comes right after a crowd with one hot key.
type Crowd struct {
	Design        string        `json:"design"`
	BesideSeconds trials.Spread `json:"beside_seconds"`
	AloneSeconds  trials.Spread `json:"alone_seconds"`
}

// crowd sends crowds through the designs in PostgreSQL, whose charges take Delay, by turns.
func (t *Throughput) crowd(ctx context.Context, b *workbench.Bench, l *lineup.Lineup) ([]Crowd, error) {
	designs := []design.Design{
		l.Claim(t.Delay),
		design.Transaction{Pool: l.Pool, Delay: t.Delay},
		design.Do{Store: l.Store, Delay: t.Delay},
		design.HoldRow{Store: l.Store, Pool: l.Pool, Delay: t.Delay},
	}
	var runs []func(context.Context) (float64, error)
	for _, d := range designs {
		for _, callers := range []int{t.Workers - 1, 0} {
			runs = append(runs, func(ctx context.Context) (float64, error) { return beside(ctx, d, callers) })
		}
	}
	plan := trials.Plan{Warmups: 1, Turns: t.Waves}
	step, ended := b.Progress("beside a hot key, turns", plan.Steps(len(runs)))
	defer ended()
	plan.Step = step
	results, err := trials.Run(ctx, plan, runs...)
	if err != nil {
		return nil, err
	}
	var all []Crowd
	for i, d := range designs {
		all = append(all, Crowd{d.Name(), trials.SpreadOf(results[2*i]), trials.SpreadOf(results[2*i+1])})
	}
	return all, nil
}

// beside is how many seconds a payment takes that comes right after so many callers of another one.
func beside(ctx context.Context, d design.Design, callers int) (float64, error) {
	hot, own := design.NewPayment("customer 1"), design.NewPayment("customer 2")
	errs := make([]error, callers)
	var coming, crowd sync.WaitGroup
	for i := range callers {
		coming.Add(1)
		crowd.Go(func() {
			coming.Done()
			_, errs[i] = d.Pay(ctx, hot)
		})
	}
	coming.Wait()
	began := time.Now()
	_, err := d.Pay(ctx, own)
	took := time.Since(began)
	crowd.Wait()
	return took.Seconds(), errors.Join(append(errs, err)...)
}
