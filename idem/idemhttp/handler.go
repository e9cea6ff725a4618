package idemhttp

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"sync"

	"github.com/pgidem/pgidem/idem"
)

// Handler runs next in lease mode: for effects outside the database, such as a charge at a card processor. The key is claimed
// before next runs, and no connection is held while it does; its answer is recorded, and sent once the record is committed.
//
// The context of next outlives the client. It is cancelled, with idem.ErrLeaseLost as its cause, only when the key is another's.
// A panic leaves the outcome unknown and goes on up, http.ErrAbortHandler included.
func (m *Middleware) Handler(next http.Handler) http.Handler {
	var warn sync.Once
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		in, err := m.read(r)
		if err != nil {
			m.refuse(w, r, err)
			return
		}
		if in.plain {
			next.ServeHTTP(w, in.Request)
			return
		}
		var run *leasedRun
		resp, err := m.ask(in, func(key idem.Key) (*idem.Response, error) {
			return m.Store.Hold(readsBody(r.Context(), key), key, func(ctx context.Context, l *idem.Lease) (*idem.Response, error) {
				run = newLeasedRun(m, w, l)
				return run.serve(ctx, in, next)
			})
		})
		if run == nil {
			m.finish(w, in, resp, err)
			return
		}
		if !run.held.used.Load() {
			warn.Do(func() {
				m.logger().Warn("idemhttp: a handler in lease mode asked for no downstream key: what it calls may be called again, and nobody can tell",
					"endpoint", in.key.Endpoint)
			})
		}
		if run.stands(r.Context(), in.key, &resp, &err) {
			run.send()
			return
		}
		m.finish(w, in, resp, err)
	})
}

// errNotKept ends the work of an answer that is not recorded.
var errNotKept = errors.New("idemhttp: an answer that is not kept")

// leasedRun is one run of a handler under a lease.
type leasedRun struct {
	*recorder
	held *held
}

func newLeasedRun(m *Middleware, w http.ResponseWriter, l *idem.Lease) *leasedRun {
	return &leasedRun{recorder: newRecorder(m, w, keptBody(m.Store.Policy)), held: &held{lease: l}}
}

// serve runs next and says what becomes of the key.
func (run *leasedRun) serve(ctx context.Context, in *request, next http.Handler) (*idem.Response, error) {
	run.start = func(r *recorder) error { return run.settleEarly(ctx) }
	next.ServeHTTP(run, in.forHandler(context.WithValue(ctx, heldContext{}, run.held)))
	run.finish()
	lease := run.held.lease
	switch outcome := run.m.outcome(run.status); {
	case run.live || run.err != nil: // settled, or Hold says what stands
		return nil, nil
	case outcome == Keep:
		return run.answer(), nil
	case run.held.transient.Load():
		return nil, idem.Transient(errNotKept)
	case outcome == GiveBack:
		_ = lease.Release(ctx) // refused where something may have happened, or where the handler ended the lease itself
		return nil, errNotKept
	}
	return nil, errNotKept
}

// settleEarly ends the lease before the answer is whole, so that it can be streamed: a retry is told that it was not kept.
func (run *leasedRun) settleEarly(ctx context.Context) error {
	if run.m.outcome(run.status) != Keep {
		return run.held.lease.Abandon(ctx)
	}
	answer := run.answer()
	answer.Body, answer.BodyDropped = nil, true
	err := run.held.lease.Complete(ctx, answer)
	if errors.Is(err, idem.ErrLeaseLost) && run.gaveBack(ctx) {
		return nil // nothing is recorded, so nothing has to wait for its record
	}
	return err
}

// gaveBack reports whether the handler has given the key back.
func (run *leasedRun) gaveBack(ctx context.Context) bool {
	found, err := run.m.Store.Lookup(ctx, run.held.lease.Key())
	return err == nil && found.State == idem.StateReleased && found.Fence == run.held.lease.Fence()
}

// stands reports whether the client gets what the handler wrote. It does not where another answer is on record: a rival's, or one
// that the handler recorded itself and that is not what it wrote.
func (run *leasedRun) stands(ctx context.Context, key idem.Key, resp **idem.Response, err *error) bool {
	if run.live {
		return true
	}
	if errors.Is(*err, errNotKept) && run.held.used.Load() {
		// The handler may have completed the lease before it failed.
		found, lost := run.m.Store.Lookup(ctx, key)
		if lost == nil && found.Response != nil && found.Fence == run.held.lease.Fence() {
			*resp, *err = found.Response, nil
			(*resp).Replayed = false
		}
	}
	switch {
	case errors.Is(*err, errNotKept):
		return true
	case *err != nil, (*resp).Replayed, run.err != nil:
		return false
	}
	return (*resp).BodyDropped || (*resp).Status == run.status && bytes.Equal((*resp).Body, run.body.bytes())
}
