package bench

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/lab/workbench"
)

// Count is what an arm took of everything, counted. Figures are for one operation unless they say otherwise.
type Count struct {
	Arm        string `json:"arm"`
	Name       string `json:"name"`
	Ours       bool   `json:"ours"`
	Callers    int    `json:"callers"`
	Operations int    `json:"operations"`

	RoundTrips     float64 `json:"round_trips"`
	Messages       float64 `json:"messages"` // to the servers; commands of Redis among them
	SentBytes      float64 `json:"sent_bytes"`
	Commits        float64 `json:"commits"`
	WALBytes       float64 `json:"wal_bytes"` // without full-page images
	TransactionIDs float64 `json:"transaction_ids"`
	Updates        int64   `json:"updates"`     // of rows, in all
	HOTUpdates     int64   `json:"hot_updates"` // of them those that changed no index, in all
	DeadTuples     int64   `json:"dead_tuples"` // in all
	Allocations    float64 `json:"allocations"` // of the whole process; with many callers also of those that wait
	AllocatedBytes float64 `json:"allocated_bytes"`
}

// replayed is how many keys very many replays are of.
const replayed = 2000

// large is how often an answer of 1 MiB is stored and replayed.
const large = 20

// count counts every arm: with one caller, and with as many as there are workers.
func (x *Bench) count(ctx context.Context, b *workbench.Bench, s *servers, result *Result) (err error) {
	t := &tally{wire: new(wire), counter: new(counter)}
	if t.rig, err = s.rig(ctx, taps{postgres: t.wire.dial, connected: t.counter.connected}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.rig.close()) }()
	t.wire.watch(t.rig.redis, t.rig.piped)
	if t.counter.admin, err = pgx.ConnectConfig(ctx, s.db.Pool.Config().ConnConfig); err != nil {
		return err
	}
	defer t.counter.admin.Close(context.WithoutCancel(ctx))

	all := x.chosen(t.rig.arms())
	extras := (product{t.rig}).extras()
	if len(x.Only) > 0 {
		extras = nil
	}
	step, ended := b.Progress("counted, arms", 2*len(all)+len(extras)+2)
	defer ended()
	add := func(to *[]Count, a arm, callers, n, keys int) error {
		defer step()
		if a.skipped != "" {
			return nil
		}
		c, err := t.of(ctx, a, callers, n, keys)
		if err == nil {
			*to = append(*to, c)
		}
		return err
	}
	for _, a := range all {
		if a.keys == hot || a.keys == hotFinished {
			continue // one caller makes no key hot
		}
		if err := add(&result.Alone, a, 1, x.Counted, x.Counted); err != nil {
			return err
		}
	}
	for _, a := range extras {
		n := x.Counted
		if a.big {
			n = min(n, large)
		}
		if err := add(&result.Alone, a, 1, n, n); err != nil {
			return err
		}
	}
	for _, a := range all {
		n := max(x.Counted, x.Workers)
		if err := add(&result.Crowd, a, x.Workers, n, n); err != nil {
			return err
		}
	}
	for _, a := range all {
		if a.id == replayHold || a.id == replayDo {
			if err := add(&result.Replays, a, x.Workers, x.Replays, min(x.Replays, replayed)); err != nil {
				return err
			}
		}
	}
	return nil
}

// tally counts on a rig that nobody else uses.
type tally struct {
	rig     *rig
	wire    *wire
	counter *counter
}

// of counts n calls of a by so many callers, of so many keys where they are finished ones, after as many that do not count.
func (t *tally) of(ctx context.Context, a arm, callers, n, keys int) (c Count, err error) {
	done, err := a.prepare(ctx, keys, callers)
	if err != nil {
		return c, err
	}
	err = a.launched(ctx, func() error {
		l := load{callers, a.call}
		if o := l.run(ctx, a.warmup(n, callers, done)); o.Failed > 0 {
			return fmt.Errorf("%s: warm up: %s", a.id, o.FirstFailure)
		}
		requests := a.requests(n, callers, done)
		if callers > 1 {
			c, err = t.calls(ctx, a, l, requests)
			return err
		}
		for part := range slices.Chunk(requests, (len(requests)+parts-1)/parts) {
			one, err := t.calls(ctx, a, l, part)
			if err != nil {
				return err
			}
			if c.Operations == 0 || one.Messages < c.Messages {
				c = one
			}
		}
		return nil
	})
	c.Arm, c.Name, c.Ours, c.Callers = a.id, a.name, a.ours, callers
	return c, err
}

// parts is in how many parts a lone caller is counted, of which the one with the fewest messages counts: a process that the machine
// stops for 10 ms while it takes a connection turns to another one, which may be new.
const parts = 3

func (t *tally) calls(ctx context.Context, a arm, l load, requests []string) (Count, error) {
	return t.during(ctx, len(requests), func() error {
		if o := l.run(ctx, requests); o.Failed > 0 {
			return fmt.Errorf("%s: %s", a.id, o.FirstFailure)
		}
		return ctx.Err()
	})
}

// warmup are the requests that make every connection know its statements: finished keys once, or new ones.
func (a *arm) warmup(n, callers int, done []string) []string {
	if a.keys == finished {
		return done
	}
	return a.requests(n, callers, done)
}

// requests are n calls, of finished keys in turn.
func (a *arm) requests(n, callers int, done []string) []string {
	if a.keys != finished {
		requests, _ := a.keys.requests(n, callers, done)
		return requests
	}
	requests := make([]string, n)
	for i := range requests {
		requests[i] = done[i%len(done)]
	}
	return requests
}

// during counts what f, which is n operations, takes.
func (t *tally) during(ctx context.Context, n int, f func() error) (c Count, err error) {
	var others []*pgxpool.Pool
	if t.rig.flows.pool != nil {
		others = append(others, t.rig.flows.pool)
	}
	before, err := t.counter.look(ctx, t.rig.pool, others...)
	if err != nil {
		return c, err
	}
	var memory, memoryAfter runtime.MemStats
	runtime.ReadMemStats(&memory)
	trips, messages, sent := t.wire.trips.Load(), t.wire.messages.Load(), t.wire.bytes.Load()
	if err := f(); err != nil {
		return c, err
	}
	trips, messages, sent = t.wire.trips.Load()-trips, t.wire.messages.Load()-messages, t.wire.bytes.Load()-sent
	runtime.ReadMemStats(&memoryAfter)
	after, err := t.counter.look(ctx, t.rig.pool, others...)
	if err != nil {
		return c, err
	}
	s, each := after.since(before), func(total int64) float64 { return float64(total) / float64(n) }
	return Count{
		Operations:     n,
		RoundTrips:     each(trips),
		Messages:       each(messages),
		SentBytes:      each(sent),
		Commits:        each(s.Commits),
		WALBytes:       each(s.WALBytes),
		TransactionIDs: each(s.TransactionIDs),
		Updates:        s.Updates,
		HOTUpdates:     s.HOTUpdates,
		DeadTuples:     s.DeadTuples,
		Allocations:    each(int64(memoryAfter.Mallocs - memory.Mallocs)),
		AllocatedBytes: each(int64(memoryAfter.TotalAlloc - memory.TotalAlloc)),
	}, nil
}
