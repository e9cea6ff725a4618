package idem_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/pgidem/pgidem/idem"
	cards "github.com/pgidem/pgidem/internal/processor"
	"github.com/pgidem/pgidem/internal/testdb"
)

// slowProcessor holds back the first call of each key until it is let go; the next ones it answers as it does.
type slowProcessor struct {
	*bundle
	cards.Client
	it *cards.Processor
}

func (b *bundle) slowProcessor(behaviour cards.Behaviour) *slowProcessor {
	b.t.Helper()
	behaviour.Hold, behaviour.SlowCall = true, 1
	pool := testdb.Pool(b.t, testdb.Empty(b.t), testdb.AsSuperuser)
	if err := cards.Install(b.ctx, pool); err != nil {
		b.t.Fatal(err)
	}
	p := &slowProcessor{bundle: b, it: &cards.Processor{Pool: pool, Behaviour: behaviour}}
	server := httptest.NewServer(p.it)
	b.t.Cleanup(func() {
		p.lands()
		server.Close()
	})
	p.Client = cards.Client{URL: server.URL, HTTP: server.Client()}
	return p
}

// lands lets the first call land.
func (p *slowProcessor) lands() {
	behaviour := p.it.Current()
	behaviour.Hold = false
	if err := p.it.Become(behaviour); err != nil {
		p.t.Error(err)
	}
}

// take is the call, and a refusal to repeat it is what the first one did.
func (p *slowProcessor) take(ctx context.Context, key string) ([]byte, error) {
	receipt, err := p.Charge(ctx, key, cards.Request{AmountCents: 49_00, Card: "4242424242424242"})
	var refused *cards.Error
	if errors.Is(err, cards.ErrDuplicate) && errors.As(err, &refused) {
		receipt, err = p.GetCharge(ctx, refused.ID)
	}
	if err != nil {
		return nil, err
	}
	return json.Marshal(receipt)
}

// found asks what became of the call.
func (p *slowProcessor) found(ctx context.Context, key string) (idem.Verdict, []byte, error) {
	receipt, err := p.FindCharge(ctx, key)
	switch {
	case errors.Is(err, cards.ErrNothing):
		return idem.Nothing, nil, nil
	case errors.Is(err, cards.ErrPending):
		return idem.Pending, nil, nil
	case err != nil:
		return idem.Pending, nil, err
	}
	body, err := json.Marshal(receipt)
	return idem.Found, body, err
}

func (p *slowProcessor) resolves(ctx context.Context, r *idem.Record) (idem.Verdict, *idem.Response, error) {
	verdict, body, err := p.found(ctx, r.DownstreamKey("charge"))
	return verdict, &idem.Response{Status: 201, Body: body}, err
}

// charges is work that charges, as a step or plainly.
func (p *slowProcessor) charges(steps, asks bool) idem.Work {
	return func(ctx context.Context, l *idem.Lease) (*idem.Response, error) {
		if !steps {
			body, err := p.take(ctx, l.DownstreamKey("charge"))
			return &idem.Response{Status: 201, Body: body}, err
		}
		call := idem.Call{Name: "charge", Do: p.take}
		if asks {
			call.Ask = p.found
		}
		body, err := l.Call(ctx, call)
		return &idem.Response{Status: 201, Body: body}, err
	}
}

// The first call of a holder that died lands after another one has taken its key: no policy that docs/choosing.md calls safe for
// the downstream charges twice, and all but StaleRefuse come to an answer.
func TestCallThatLandsAfterTheTakeoverIsNoSecondCharge(t *testing.T) {
	b := setup(t)
	const lease, settle = time.Minute, 10 * time.Minute
	forgets := cards.Behaviour{Repeat: cards.RepeatCharge}
	landed, silent := forgets, forgets
	landed.Asked, silent.Asked = cards.AskedLanded, cards.AskedRefuse
	for name, test := range map[string]struct {
		downstream cards.Behaviour
		stale      idem.StalePolicy
		late       bool // the call lands only once somebody has asked, or has called again
	}{
		"it answers a repeat with the first result": {cards.Behaviour{}, idem.StaleRerun, true},
		"it refuses a repeat":                       {cards.Behaviour{Repeat: cards.RepeatError}, idem.StaleRerun, true},
		"it refuses at once": {
			cards.Behaviour{Repeat: cards.RepeatError, Conflict: cards.ConflictError}, idem.StaleRerun, true,
		},
		"it says what is pending":                       {forgets, idem.StaleResolve, true},
		"it does not, and Settle is longer than a call": {landed, idem.StaleResolve, false},
		"it says nothing":                               {silent, idem.StaleRefuse, true},
	} {
		for how, steps := range map[string]bool{"plainly": false, "in steps": true} {
			t.Run(name+"/"+how, func(t *testing.T) {
				b := b.on(t)
				p, key := b.slowProcessor(test.downstream), b.key("k")
				policy := idem.Policy{Stale: test.stale, Lease: lease, Settle: settle, Retention: time.Hour, Wait: -1}
				asks := test.stale == idem.StaleResolve
				if asks && !steps {
					policy.Resolve = p.resolves
				}
				p.dies(b.newStore(policy), key, p.charges(steps, asks))

				b.age(key, lease)
				next := b.newStore(policy)
				if !test.late {
					_, err := next.Hold(b.ctx, key, p.charges(steps, asks))
					wantIs(t, err, idem.ErrInFlight) // nobody is asked before Settle has passed, and by then it has landed
					p.lands()
					p.settled()
				}
				b.age(key, settle)
				resp, err := p.answered(next, key, p.charges(steps, asks), settle)
				if test.stale == idem.StaleRefuse {
					wantIs(t, err, idem.ErrOutcomeUnknown)
				} else if err != nil || resp.Status != 201 {
					t.Errorf("got %+v, %v; want an answer", resp, err)
				}
				if stats := p.settled(); stats.Charges != 1 {
					t.Errorf("%d charges, want 1", stats.Charges)
				}
			})
		}
	}
}

// dies runs work as a process does that is gone once its call has arrived.
func (p *slowProcessor) dies(store *idem.Store, key idem.Key, work idem.Work) {
	p.t.Helper()
	lease := p.claim(store, key)
	ctx, die := context.WithCancel(p.ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = work(ctx, lease)
	}()
	p.eventually(func() bool { return p.stats().Pending == 1 }, "the call never arrives")
	die()
	p.receive(ended, "the call outlives its caller")
}

// answered asks until there is an answer. The first call lands once the processor has been called again, or after the first try.
func (p *slowProcessor) answered(store *idem.Store, key idem.Key, work idem.Work, settle time.Duration) (resp *idem.Response, err error) {
	p.t.Helper()
	calls := p.stats().Requests
	go func() {
		for p.ctx.Err() == nil && p.stats().Requests == calls {
			time.Sleep(time.Millisecond)
		}
		p.lands()
	}()
	for range 3 {
		if resp, err = store.Hold(p.ctx, key, work); err == nil {
			return resp, nil
		}
		p.t.Logf("not yet: %v", err)
		p.lands()
		p.settled()
		p.age(key, settle)
	}
	return resp, err
}

func (p *slowProcessor) stats() cards.Stats {
	stats, err := p.Stats(p.ctx)
	if err != nil && p.ctx.Err() == nil {
		p.t.Errorf("the processor: %v", err)
	}
	return stats
}

// settled is what the processor has done when all that it was asked for has landed.
func (p *slowProcessor) settled() cards.Stats {
	p.t.Helper()
	stats, err := p.Landed(p.ctx)
	if err != nil {
		p.t.Fatal(err)
	}
	return stats
}
