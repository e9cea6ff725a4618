package model

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/pgidem/pgidem/idem"
)

// run is one history under way.
type run struct {
	b        *bundle
	seed     uint64
	history  *History
	subjects []*subject
	protocol func(*idem.Store) protocol

	lanes   atomic.Int64
	crashes atomic.Int64
	landing sync.WaitGroup // calls of dead processes that are on their way
}

// run lets the clients do what the seed asks for.
func (b *bundle) run(seed uint64, keys []*class, p func(*idem.Store) protocol) *run {
	r := &run{b: b, seed: seed, history: NewHistory(), protocol: p}
	for n, c := range keys {
		r.subjects = append(r.subjects, &subject{
			id: fmt.Sprintf("k%d %s", n, c.name), tenant: fmt.Sprintf("%s %d", b.t.Name(), seed),
			class: c, processor: newProcessor(r.history, c.refuses),
		})
	}
	ctx, cancel := context.WithCancel(b.ctx)
	var all sync.WaitGroup
	for n, actions := range plan(seed, keys) {
		clear(b.clients[n].pockets) // which are of the history before
		all.Go(func() { r.client(ctx, n, actions) })
	}
	all.Wait()
	cancel() // what is on its way lands now
	r.landing.Wait()
	r.readAll()
	return r
}

// readAll looks at every key once more, when all is over.
func (r *run) readAll() {
	reader := &process{pool: r.b.control, store: &idem.Store{Pool: r.b.control}, fuses: new(fuses), died: make(chan struct{})}
	lane := int(r.lanes.Add(1)) - 1
	for n := range r.subjects {
		t := r.turn(reader, lane, action{key: n})
		t.lookup()
		t.rows()
	}
}

// client does one action after the other. When its process dies it goes on with the next one, in a new process.
func (r *run) client(ctx context.Context, n int, actions []action) {
	lane := int(r.lanes.Add(1)) - 1
	for _, a := range actions {
		p := r.b.clients[n]
		if a.fuse != nil {
			p.fuses.arm(a.fuse)
		}
		t := r.turn(p, lane, a)
		ended := r.history.Call(t.subject.id)
		done := make(chan struct{})
		go func() {
			defer close(done)
			t.act()
		}()
		select {
		case <-done:
		case <-p.died:
		}
		t.seal()
		ended()
		p.fuses.wait()
		if p.isDead() {
			r.crashes.Add(1)
			r.landing.Go(func() { t.subject.processor.landLater(ctx, 60) })
			r.b.restart(n)
			lane = int(r.lanes.Add(1)) - 1
		}
	}
}
