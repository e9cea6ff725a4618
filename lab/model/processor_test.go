package model

import (
	"context"
	"sync"

	"github.com/pgidem/pgidem/idem"
)

// processor is the downstream of one key. It never crashes, and a call that has arrived is carried out.
type processor struct {
	history *History
	refuses bool

	mu     sync.Mutex
	done   map[string]string   // by downstream key: what it did first
	flying map[string]*arrival // calls that have arrived and are not decided
}

type arrival struct {
	entry    *Entry
	declines bool
}

func newProcessor(h *History, refuses bool) *processor {
	return &processor{history: h, refuses: refuses, done: map[string]string{}, flying: map[string]*arrival{}}
}

// call has the effect that in describes, under a downstream key, unless the process is dead or dies before that.
func (s *processor) call(t *turn, downstreamKey string, in Operation, declines bool) (string, error) {
	if t.process.burns(beforeCall) {
		t.process.die()
		return "", errDied
	}
	in.Kind, in.Key = Effect, t.subject.id
	a := &arrival{entry: s.history.Open(t.lane, in), declines: declines}
	s.mu.Lock()
	if t.process.isDead() {
		s.mu.Unlock()
		a.entry.Drop()
		return "", errDied
	}
	s.land(downstreamKey) // one after the other
	if t.process.burns(inCall) {
		s.flying[downstreamKey] = a
		s.mu.Unlock()
		t.process.die()
		return "", errDied
	}
	s.flying[downstreamKey] = a
	output := s.land(downstreamKey)
	s.mu.Unlock()
	if t.process.burns(afterCall) {
		t.process.die()
		return "", errDied
	}
	return output, nil
}

// land carries out the call that has arrived, if there is one. mu is held.
func (s *processor) land(downstreamKey string) string {
	a, flying := s.flying[downstreamKey]
	if !flying {
		return ""
	}
	delete(s.flying, downstreamKey)
	if first, repeated := s.done[downstreamKey]; repeated && s.refuses {
		a.entry.Close(Result{Outcome: Replayed, Answer: first})
		return first
	}
	kind := "made"
	if a.declines {
		kind = "declined"
	}
	a.entry.Answer = Output(kind, a.entry.Request, a.entry.Token)
	if s.done[downstreamKey] == "" {
		s.done[downstreamKey] = a.entry.Answer
	}
	a.entry.Close(Result{Outcome: OK})
	return a.entry.Answer
}

// landLater lets what is on its way arrive once some more calls have begun.
func (s *processor) landLater(ctx context.Context, calls int) {
	s.history.Await(ctx, calls)
	s.mu.Lock()
	defer s.mu.Unlock()
	for downstreamKey := range s.flying {
		s.land(downstreamKey)
	}
}

// ask says what became of a call.
func (s *processor) ask(downstreamKey string) (idem.Verdict, string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch output := s.done[downstreamKey]; {
	case s.flying[downstreamKey] != nil:
		return idem.Pending, ""
	case output != "":
		return idem.Found, output
	}
	return idem.Nothing, ""
}
