package dirtypool

import "fmt"

// rounds are some rounds of all.
type rounds struct{ n, of int }

func (r rounds) String() string { return fmt.Sprintf("%d of %d rounds", r.n, r.of) }
func (r rounds) all() bool      { return r.of > 0 && r.n == r.of }
func (r rounds) none() bool     { return r.of > 0 && r.n == 0 }

func (w Writes) destroyed() rounds { return rounds{w.Destroyed, w.Rounds} }
func (w Writes) kept() rounds      { return rounds{w.Kept, w.Rounds} }

// wrong counts the rounds in which the rows were not as they should be.
func (w Writes) wrong() int { return w.Destroyed + w.Kept }

// sum adds one count of several scenes.
func sum(scenes []Writes, count func(Writes) rounds) (all rounds) {
	for _, w := range scenes {
		r := count(w)
		all.n += r.n
		all.of += r.of
	}
	return all
}

// at is what came of one scene; the zero value where it was not played.
func (r *Result) at(h Handler, kind poolKind, connections int, overlap bool) Writes {
	for _, w := range r.Writes {
		if w.Scene == (Scene{h, kind.name, connections, overlap}) {
			return w
		}
	}
	return Writes{}
}

// all are a handler's scenes on pools of these kinds; none named: on any.
func (r *Result) all(h Handler, kinds ...poolKind) (all []Writes) {
	for _, w := range r.Writes {
		fits := len(kinds) == 0
		for _, kind := range kinds {
			fits = fits || w.Pool == kind.name
		}
		if w.Handler == h && fits {
			all = append(all, w)
		}
	}
	return all
}

// countLocks counts a handler's locks, and those of them that somebody got.
func (r *Result) countLocks(h Handler, got func(Lock) bool) (n, of int) {
	for _, l := range r.Locks {
		if l.Handler != h {
			continue
		}
		of++
		if got(l) {
			n++
		}
	}
	return n, of
}

// step is a handler's statement in the first round; the zero value where there was none.
func (w Writes) step(handler, does string) Step {
	for _, s := range w.Steps {
		if s.Handler == handler && s.Does == does {
			return s
		}
	}
	return Step{}
}
