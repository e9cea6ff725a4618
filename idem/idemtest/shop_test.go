package idemtest_test

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// shop charges and remembers in memory what it answered. Its zero value is right.
type shop struct {
	duplicate func(w http.ResponseWriter, id int64) // answers a duplicate; nil: rightly
	first     func(w http.ResponseWriter, id int64) // answers a new key; nil: 201
	effects   int64                                 // of one charge; 0: 1
	keyOf     func(*http.Request) string            // nil: keyOf

	mu      sync.Mutex
	charges map[string]int64
	total   atomic.Int64
}

func (s *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	find := keyOf
	if s.keyOf != nil {
		find = s.keyOf
	}
	key := find(r)
	s.mu.Lock()
	defer s.mu.Unlock()
	id, done := s.charges[key]
	answer := s.first
	if done {
		answer = s.duplicate
	} else {
		id = s.charge(key)
	}
	switch {
	case answer != nil:
		answer(w, id)
	case done:
		replayed(w, id)
	default:
		created(w, id)
	}
}

func (s *shop) charge(key string) int64 {
	if s.charges == nil {
		s.charges = map[string]int64{}
	}
	id := int64(len(s.charges)) + 1
	s.charges[key] = id
	s.total.Add(max(s.effects, 1))
	return id
}

func (s *shop) count(context.Context) (int, error) { return int(s.total.Load()), nil }

func replayed(w http.ResponseWriter, id int64) {
	w.Header().Set("Idempotent-Replayed", "true")
	created(w, id)
}

// naive looks, lets a gap pass, charges, and notes the answer: the handler of articles 000, 003 and 004. Each line of it is right.
type naive struct {
	gap  time.Duration // 0: only the answer is composed in between, some microseconds
	mu   sync.Mutex
	done map[string][]byte
	last atomic.Int64
}

func (n *naive) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	key := keyOf(r)
	answer, done := n.look(key)
	if done {
		w.Header().Set("Idempotent-Replayed", "true")
	} else {
		time.Sleep(n.gap)
		answer = receipt(n.last.Add(1))
		n.note(key, answer)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	_, _ = w.Write(answer)
}

func (n *naive) look(key string) (answer []byte, done bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	answer, done = n.done[key]
	return answer, done
}

func (n *naive) note(key string, answer []byte) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.done == nil {
		n.done = map[string][]byte{}
	}
	n.done[key] = answer
}

func (n *naive) count(context.Context) (int, error) { return int(n.last.Load()), nil }

func receipt(id int64) []byte {
	text, err := json.Marshal(map[string]any{"id": id, "cents": 4900, "currency": "usd", "status": "succeeded"})
	if err != nil {
		panic(err)
	}
	return text
}
