package processor

import (
	"context"
	"math/rand/v2"
	"net/http"
	"time"
)

// take serves one POST: it charges or refunds, unless the request, the key or the behaviour says otherwise.
func (p *Processor) take(w http.ResponseWriter, r *http.Request, k kind) {
	p.counters.requests.Add(1)
	key, err := readKey(r.Header)
	if err != nil {
		writeError(w, err)
		return
	}
	request, err := readRequest(w, r, k)
	if err != nil {
		writeError(w, err)
		return
	}

	c := call{name: name{kind: k, key: key}, request: request, behaviour: p.Current()}
	if key == "" {
		c.note = request.Reference
	}
	if p.arrivals.arrive(c.name) <= c.behaviour.Unavailable || rand.Float64() < c.behaviour.UnavailableRate {
		p.counters.unavailable.Add(1)
		writeError(w, ErrUnavailable)
		return
	}
	c.number = p.arrivals.accept(c.name)

	receipt, err := p.land(r.Context(), c)
	if err != nil {
		writeError(w, err)
		return
	}
	if !receipt.Replayed && c.behaviour.slow(c.number) {
		time.Sleep(c.behaviour.Lag)
	}
	if c.number <= c.behaviour.Drop {
		p.counters.dropped.Add(1)
		panic(http.ErrAbortHandler)
	}
	receipt.write(w)
}

// land carries out a call, or finds what its key's first call has made.
func (p *Processor) land(caller context.Context, c call) (Receipt, error) {
	refuses := c.key != "" && c.behaviour.Repeat != RepeatCharge
	f, rival := p.arrivals.enter(c, refuses) // before the first look at the table: from here on it may land, and is pending
	defer p.arrivals.leave(f)
	t, ctx := table{p.Pool}, context.WithoutCancel(caller) // a processor does not stop because its caller has hung up
	if c.kind == refund {
		if given, ok, err := t.findID(ctx, charge, c.request.Charge); err != nil {
			return Receipt{}, err
		} else if !ok || given.status != Succeeded {
			return Receipt{}, because(ErrNoCharge, "%s has taken no money", c.request.Charge)
		}
	}
	if !refuses {
		made, _, err := p.carryOut(ctx, t, c, false)
		return made.receipt(), err
	}
	for {
		if first, ok, err := t.findKey(ctx, c.kind, c.key); err != nil {
			return Receipt{}, err
		} else if ok {
			return p.repeat(c, first)
		}
		switch {
		case rival == nil:
			made, ok, err := p.carryOut(ctx, t, c, true)
			if err != nil || ok {
				return made.receipt(), err
			}
			continue // another process has charged under the key
		case !c.request.same(rival.request):
			return Receipt{}, ErrKeyReused
		case c.behaviour.Conflict == ConflictError:
			return Receipt{}, ErrInProgress
		}
		select {
		case <-rival.landed:
			rival = p.arrivals.again(f)
		case <-caller.Done(): // it has done nothing, and has nobody to answer
			panic(http.ErrAbortHandler)
		}
	}
}

// carryOut takes its time and commits the row.
func (p *Processor) carryOut(ctx context.Context, t table, c call, refuses bool) (row, bool, error) {
	if c.behaviour.slow(c.number) {
		time.Sleep(c.behaviour.Latency)
		if c.behaviour.Hold {
			p.hold()
		}
	}
	status := Succeeded
	if c.behaviour.DeclineAll || c.request.Card == DeclinedCard {
		status = Declined
	}
	made, ok, err := t.insert(ctx, c, refuses, status)
	if ok && status == Declined {
		p.counters.declined.Add(1)
	}
	return made, ok, err
}

// repeat answers a call whose key has been used.
func (p *Processor) repeat(c call, first row) (Receipt, error) {
	if !c.request.same(first.request) {
		return Receipt{}, ErrKeyReused
	}
	p.counters.refused.Add(1)
	receipt := first.receipt()
	if c.behaviour.Repeat == RepeatError {
		return Receipt{}, &Error{Status: http.StatusConflict, Code: "duplicate_key", ID: receipt.ID}
	}
	receipt.Replayed = true
	return receipt, nil
}
