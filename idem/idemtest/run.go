package idemtest

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync"
	"time"

	"github.com/pgidem/pgidem/idem/idemhttp"
)

// run is a storm under way.
type run struct {
	Storm
	base      *url.URL
	server    *server         // nil: it is not ours
	transport *http.Transport // keeps connections enough for a round, from one to the next
	effects   int             // when they were last counted
	report    *Report
}

// round storms new keys and returns the Faults that it finds.
func (r *run) round(ctx context.Context) error {
	customers := make([]*customer, r.Keys)
	for i := range customers {
		key := idemhttp.NewKey()
		original, err := newOriginal(r.Request(key), r.base)
		if err != nil {
			return err
		}
		customers[i] = &customer{key: key, original: original, copies: make([]answer, r.Copies)}
	}
	var sent sync.WaitGroup
	for _, c := range customers {
		gate := newGate(r.Copies)
		for i := range c.copies {
			sent.Go(func() { c.copies[i] = r.send(ctx, c.original, &ticket{gate: gate}) })
		}
		if r.report.Rounds > 0 {
			sent.Wait()
		}
	}
	sent.Wait()
	for _, c := range customers {
		sent.Go(func() { c.retries = r.ask(ctx, c.original) })
	}
	sent.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return r.judge(ctx, customers)
}

// send sends one copy; t, unless it is nil, is the gate that it waits at.
func (r *run) send(ctx context.Context, o *original, t *ticket) answer {
	ctx, cancel := context.WithTimeoutCause(ctx, r.Patience, fmt.Errorf("not within %v", r.Patience))
	defer cancel()
	if t != nil {
		defer t.handIn() // where it came to no write, for the others wait
		ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(got httptrace.GotConnInfo) {
			if conn := gated(got.Conn); conn != nil {
				conn.ticket.Store(t)
			}
		}})
	}
	resp, err := r.transport.RoundTrip(o.copy(ctx))
	if err != nil {
		return answer{err: err}
	}
	return read(resp)
}

// ask sends a key again until its answer is not "not yet". It comes back sooner than Retry-After says: nobody else is there.
func (r *run) ask(ctx context.Context, o *original) (answers []answer) {
	end := time.Now().Add(r.Patience)
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, 250*time.Millisecond) {
		a := r.send(ctx, o, nil)
		answers = append(answers, a)
		if a.kindOf(r.Status) != notYet || time.Now().Add(pause).After(end) {
			return answers
		}
		select {
		case <-ctx.Done():
			return answers
		case <-time.After(pause):
		}
	}
}

// judge counts a round and returns Faults where there are any.
func (r *run) judge(ctx context.Context, customers []*customer) error {
	r.report.Rounds++
	for _, c := range customers {
		c.sort(r.Status)
		r.report.add(c)
	}
	if err := customers[0].copies[0].err; err != nil && r.report.Others == r.report.Requests {
		return err // nobody is there
	}
	more, err := r.count(ctx)
	if err != nil {
		return err
	}
	trial := trial{customers: customers, counted: r.Effects != nil, more: more}
	if faults := trial.faults(); faults != nil {
		return faults
	}
	return nil
}

// count counts the effects and returns how many more there are.
func (r *run) count(ctx context.Context) (more int, err error) {
	if r.Effects == nil {
		return 0, nil
	}
	if r.server != nil {
		waiting, cancel := context.WithTimeout(ctx, r.Patience)
		r.server.idle(waiting)
		cancel()
	}
	now, err := r.Effects(ctx)
	if err != nil {
		return 0, fmt.Errorf("count the effects: %w", err)
	}
	more, r.effects = now-r.effects, now
	return more, nil
}
