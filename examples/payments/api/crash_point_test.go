package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/pgidem/pgidem/internal/pgproxy"
)

// crashPoint is a moment of a request and what befalls the API in it.
type crashPoint struct {
	name      string
	processor []string // flags besides the policy's
	api       []string // flags besides the policy's
	plan      crashPlan
	commit    int // the n-th COMMIT meets this fault on its way, and the API is killed
	fault     pgproxy.Fault
	// befall waits for the moment and does the rest; the row has a processor of its own. nil: the API ends or stops itself.
	befall func(context.Context, *crashRun) error
	told   int           // what the client of the API that meets it is told; 0: that does not matter
	extra  time.Duration // that the point itself takes from an answer
	wakes  bool          // the API has stopped, and goes on when another process has taken over
	beyond string        // why no policy promises anything here: the row is shown, and not judged
}

// statementPoints are before and after each statement from the n-th on.
func statementPoints(what string, statements []sentStatement, from int, flags ...string) (points []crashPoint) {
	for i, s := range statements[from-1:] {
		for _, side := range []string{"before", "after"} {
			plan := crashPlan{verb: "kill", side: side, nth: from + i, name: s.name}
			points = append(points, crashPoint{name: what + plan.String(), plan: plan, processor: flags})
		}
	}
	return points
}

// pausePoints are before each round trip and after each COMMIT: the API stops there until another process has taken over.
func pausePoints(statements []sentStatement) (points []crashPoint) {
	add := func(side string, n int) {
		plan := crashPlan{verb: "stop", side: side, nth: n, name: statements[n-1].name}
		points = append(points, crashPoint{name: plan.String(), plan: plan, wakes: true})
	}
	for i, s := range statements {
		if s.first {
			add("before", i+1)
		}
		if s.name == "COMMIT" {
			add("after", i+1)
		}
	}
	return points
}

// pausedCall is where no statement stands: the API has looked at its lease, stops, and calls when another one has asked and called.
func pausedCall(policy crashPolicy) crashPoint {
	plan := crashPlan{verb: "stop", side: sideCall}
	point := crashPoint{name: plan.String(), plan: plan, wakes: true}
	if policy.asks {
		point.beyond = "Settle was shorter than the pause"
	}
	return point
}

// commitPoints are the COMMITs of a request: lost on their way, or their answers.
func commitPoints(statements []sentStatement) (points []crashPoint) {
	n := 0
	for _, s := range statements {
		if s.name != "COMMIT" {
			continue
		}
		n++
		points = append(points,
			crashPoint{name: fmt.Sprintf("COMMIT %d does not arrive", n), commit: n, fault: pgproxy.CutBefore},
			crashPoint{name: fmt.Sprintf("COMMIT %d arrives", n), commit: n, fault: pgproxy.DropAnswer})
	}
	return points
}

// processorPoints are the moments of the call to the processor.
var processorPoints = []crashPoint{
	{name: "killed while the call is under way", processor: []string{"--latency=1s", "--slow-call=1"}, befall: killOnceArrived},
	{name: "killed, and the call lands after the takeover", processor: []string{"--latency=4s", "--slow-call=1"}, befall: killOnceArrived,
		extra: 4 * time.Second},
	{name: "killed while the answer is under way", processor: []string{"--lag=30s", "--slow-call=1"}, befall: killOnceCharged},
	{name: "the processor hangs up after the charge", processor: []string{"--drop=1"}, befall: untilTold, told: 502},
	{name: "the processor is not available", processor: []string{"--unavailable=1"}, befall: untilTold, told: 503},
	{name: "SIGTERM, the call outlives the grace", processor: []string{"--lag=30s", "--slow-call=1"}, api: []string{"--grace=200ms"},
		befall: termOnceCharged},
	{name: "SIGTERM, the call ends within the grace", processor: []string{"--lag=1s", "--slow-call=1"}, api: []string{"--grace=30s"},
		befall: termOnceCharged, told: 201},
	{name: "paused while the answer is under way", processor: []string{"--lag=500ms", "--slow-call=1"}, befall: pauseOnceCharged, wakes: true},
}

// orderPoints are those of the call to nobody: an order takes its time.
var orderPoints = []crashPoint{
	{name: "SIGTERM, the order outlives the grace", api: []string{"--order-time=30s", "--grace=200ms"}, befall: termOnceWorking},
	{name: "SIGTERM, the order ends within the grace", api: []string{"--order-time=500ms", "--grace=30s"}, befall: termOnceWorking, told: 201},
}

func killOnceArrived(ctx context.Context, r *crashRun) error {
	err := r.until(ctx, "the call arrives", func() (bool, error) {
		stats, err := r.processor.Stats(ctx)
		return stats.Pending > 0, err
	})
	r.happens()
	r.first.kill()
	return err
}

func (r *crashRun) untilCharged(ctx context.Context) error {
	return r.until(ctx, "the charge lands", func() (bool, error) {
		n, err := r.effects(ctx)
		return n > 0, err
	})
}

func killOnceCharged(ctx context.Context, r *crashRun) error {
	err := r.untilCharged(ctx)
	r.happens()
	r.first.kill()
	return err
}

func pauseOnceCharged(ctx context.Context, r *crashRun) error {
	err := r.untilCharged(ctx)
	r.happens()
	return errors.Join(err, r.first.signal(syscall.SIGSTOP))
}

func termOnceCharged(ctx context.Context, r *crashRun) error {
	return errors.Join(r.untilCharged(ctx), r.term(ctx))
}

func termOnceWorking(ctx context.Context, r *crashRun) error {
	return errors.Join(r.until(ctx, "the order has claimed its key", func() (bool, error) { return len(r.first.sent()) >= 5, nil }), r.term(ctx))
}

// term ends the API as a deploy does, and wants it to end well.
func (r *crashRun) term(ctx context.Context) error {
	r.happens()
	if err := r.first.signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-r.first.ended:
		return r.first.failed
	case <-ctx.Done():
		return errors.New("the API does not end after SIGTERM")
	}
}

// untilTold is for a fault of the processor's that the API lives through.
func untilTold(ctx context.Context, r *crashRun) error {
	_, err := r.firstTold(ctx)
	r.happens()
	return err
}

// onCommit is the fate of each COMMIT that the API sends once it is told to go.
func (pt crashPoint) onCommit(armed *atomic.Bool, kill func()) func() pgproxy.Fault {
	var seen atomic.Int64
	return func() pgproxy.Fault {
		if !armed.Load() || seen.Add(1) != int64(pt.commit) {
			return pgproxy.Pass
		}
		kill()
		return pt.fault
	}
}

// with is a connection string with one more parameter.
func with(url, parameter string) string {
	if strings.Contains(url, "?") {
		return url + "&" + parameter
	}
	return url + "?" + parameter
}
