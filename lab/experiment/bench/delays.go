package bench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/pgidem/pgidem/lab/trials"
	"github.com/pgidem/pgidem/lab/workbench"
)

// Delayed is how long a call of an arm takes where the servers are far away: one caller.
type Delayed struct {
	Arm   string  `json:"arm"`
	Name  string  `json:"name"`
	Ours  bool    `json:"ours"`
	Calls []Calls `json:"calls"` // a delay each
}

// Calls are calls under one delay.
type Calls struct {
	DelaySeconds float64       `json:"delay_seconds"` // added to every round trip
	Seconds      trials.Spread `json:"seconds"`       // of a call; its median is the p50
}

// faraway are the arms whose calls are timed under delays.
var faraway = []string{
	bare, redisClaim, redisPair, claim, transaction, hold, holdPair, holdAlone, do, batch,
	replayPair, replaySelect, replayHold, replayDo,
}

// delays times single calls of the arms by turns, over links of growing delays.
func (x *Bench) delays(ctx context.Context, b *workbench.Bench, s *servers) (all []Delayed, err error) {
	for _, delay := range x.Delays {
		arms, calls, err := x.delayed(ctx, b, s, delay)
		if err != nil {
			return nil, fmt.Errorf("delay of %s: %w", delay, err)
		}
		for i, a := range arms {
			if len(all) <= i {
				all = append(all, Delayed{Arm: a.id, Name: a.name, Ours: a.ours})
			}
			all[i].Calls = append(all[i].Calls, Calls{delay.Seconds(), trials.SpreadOf(calls[i])})
		}
	}
	return all, nil
}

// delayed times calls under one delay, in seconds, an arm each.
func (x *Bench) delayed(
	ctx context.Context, b *workbench.Bench, s *servers, delay time.Duration,
) (arms []arm, seconds [][]float64, err error) {
	var t taps
	for _, to := range []*func(context.Context, string, string) (net.Conn, error){&t.postgres, &t.redis} {
		l, err := newLink(delay)
		if err != nil {
			return nil, nil, err
		}
		defer l.close()
		*to = l.dial
	}
	far, err := s.rig(ctx, t)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, far.close()) }()
	plan := trials.Plan{Warmups: 2, Turns: x.Calls}
	arms = slices.DeleteFunc(x.chosen(far.arms()), func(a arm) bool { return a.skipped != "" || !slices.Contains(faraway, a.id) })
	var turns []func(context.Context) (float64, error)
	for _, a := range arms {
		turn, err := x.alone(ctx, a, plan.Steps(1))
		if err != nil {
			return nil, nil, err
		}
		turns = append(turns, turn)
	}
	step, ended := b.Progress(fmt.Sprintf("%s farther away, calls", delay), plan.Steps(len(turns)))
	defer ended()
	plan.Step = step
	seconds, err = trials.Run(ctx, plan, turns...)
	return arms, seconds, err
}

// alone is a turn of a: one call.
func (x *Bench) alone(ctx context.Context, a arm, turns int) (func(context.Context) (float64, error), error) {
	keys := some(turns)
	if a.finish != nil {
		var err error
		if keys, err = a.prepare(ctx, turns, x.Workers); err != nil {
			return nil, err
		}
	}
	next := 0
	return func(ctx context.Context) (float64, error) {
		key := keys[next]
		next++
		began := time.Now()
		err := a.call(ctx, key)
		return time.Since(began).Seconds(), err
	}, nil
}
