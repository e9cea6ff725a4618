package idem

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/pgidem/pgidem/gen"
	"github.com/pgidem/pgidem/idem/internal/engine"
)

// steps are the recovery points of one run: what earlier runs recorded, and where this one is.
type steps struct {
	running sync.Mutex  // held by the step that runs
	any     atomic.Bool // this run had a step

	loaded bool
	byName map[string]*step
	called int32 // places given out in this run
	broken error // the order was not kept: nothing new starts any more
}

// step is one recovery point.
type step struct {
	name     string
	position int32
	begun    bool // announced, and what it did is unknown
	finished bool
	output   []byte
	called   bool // in this run
}

func (s *steps) used() bool { return s.any.Load() }

// enterStep finds the step that is called now, once the order allows it. leave is to be called when the step has ended.
func (l *Lease) enterStep(ctx context.Context, name string) (_ *step, leave func(), err error) {
	switch {
	case name == "", len(name) > 255, !utf8.ValidString(name), strings.IndexByte(name, 0) >= 0:
		return nil, nil, fmt.Errorf("%w: a step's name is 1 to 255 bytes of UTF-8 without NUL", ErrStepOrder)
	case isWithinTx(ctx):
		return nil, nil, fmt.Errorf("%w: step %q is inside a transaction of Do or StepTx, whose rollback would not undo it", ErrStepOrder, name)
	case !l.steps.running.TryLock():
		return nil, nil, fmt.Errorf("%w: step %q was called while another one of this lease runs", ErrStepOrder, name)
	}
	defer func() {
		if err != nil {
			l.steps.running.Unlock()
		}
	}()
	if state := l.current(); state != leaseOpen {
		return nil, nil, fmt.Errorf("%w: it has ended", ErrLeaseLost)
	}
	if err := l.loadSteps(ctx); err != nil {
		return nil, nil, err
	}
	s, err := l.steps.place(name)
	if err != nil {
		return nil, nil, err
	}
	l.steps.any.Store(true)
	return s, l.steps.running.Unlock, nil
}

// loadSteps reads what earlier runs recorded; the first run of a key has no earlier one.
func (l *Lease) loadSteps(ctx context.Context) error {
	if l.steps.loaded {
		return nil
	}
	l.steps.byName = make(map[string]*step)
	if l.Attempt() > 1 {
		recorded, held, err := l.recordedSteps(ctx)
		switch {
		case err != nil:
			return fmt.Errorf("%w: %w", ErrUnavailable, err)
		case !held:
			return ErrLeaseLost
		}
		for _, r := range recorded {
			l.steps.byName[r.Name] = &step{
				name: r.Name, position: r.Position, begun: r.FinishedAt == nil, finished: r.FinishedAt != nil, output: r.Output,
			}
		}
	}
	l.steps.loaded = true
	return nil
}

// recordedSteps reads the steps of the key, in their order, and after them whether it is still this lease's: if it is, they are of
// its own life.
func (l *Lease) recordedSteps(ctx context.Context) (found []gen.StepListRow, held bool, err error) {
	arg := gen.StepListParams{TenantID: l.row().key.Tenant, Endpoint: l.row().key.Endpoint, Key: l.row().key.ID}
	err = l.op.shared.engine.Write(ctx, engine.Bound{}, func(t *engine.Trip) (keep func()) {
		var rows []gen.StepListRow
		t.Add(func(ctx context.Context, db gen.DBTX) (err error) {
			rows, err = q.StepList(ctx, db, arg)
			return err
		})
		row := l.row().Fresh().(*keyRow)
		row.Load(t)
		return func() { found, held = rows, l.holds(row) }
	})
	return found, held, err
}

// holds reports whether the key, as it was loaded, is this lease's.
func (l *Lease) holds(row *keyRow) bool {
	return row.loaded != nil && row.loaded.Status == statusInFlight && row.loaded.Fence == l.Fence() && row.loaded.ClaimID == row.claimID
}

// place gives the step that is called now its place, and holds it against those that were recorded: the same names in the same
// order. A step that failed may be called again.
func (s *steps) place(name string) (*step, error) {
	if s.broken != nil {
		return nil, s.broken
	}
	known := s.byName[name]
	if known != nil && known.called {
		if known.finished {
			s.broken = fmt.Errorf("%w: step %q was called twice; a name belongs to one call", ErrStepOrder, name)
			return nil, s.broken
		}
		return known, nil
	}
	s.called++
	if known == nil {
		known = &step{name: name, position: s.called}
	}
	for _, other := range s.byName {
		if other.position == s.called && other.name != name || other.name == name && other.position != s.called {
			s.broken = fmt.Errorf("%w: step %q is called in place %d, where %q was recorded in place %d",
				ErrStepOrder, name, s.called, other.name, other.position)
			return nil, s.broken
		}
	}
	known.called = true
	s.byName[name] = known
	return known, nil
}

// withinTx marks the context of work in a transaction.
func withinTx(ctx context.Context) context.Context {
	return context.WithValue(ctx, withinTxContext{}, true)
}

type withinTxContext struct{}

func isWithinTx(ctx context.Context) bool { return ctx.Value(withinTxContext{}) != nil }
