package model

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anishathalye/porcupine"
)

// History records what concurrent clients ask and are told. Its zero value is not ready: NewHistory.
type History struct {
	began time.Time
	token atomic.Int64

	mu      sync.Mutex
	entries []*Entry
	calls   []call
	waiting []awaited
}

// NewHistory begins a history now.
func NewHistory() *History { return &History{began: time.Now()} }

// Entry is an operation that was sent. What it asks for may be made more precise until it is closed.
type Entry struct {
	Operation
	history *History
	client  int
	result  *Result
}

// Token numbers claims, from 1.
func (h *History) Token() int { return int(h.token.Add(1)) }

func (h *History) now() time.Duration { return time.Since(h.began) }

// Open records that a client sends an operation now.
func (h *History) Open(client int, in Operation) *Entry {
	h.mu.Lock()
	defer h.mu.Unlock()
	in.At = h.now()
	e := &Entry{Operation: in, history: h, client: client}
	h.entries = append(h.entries, e)
	return e
}

// Close records what the client was told, now. A second Close is none.
func (e *Entry) Close(out Result) {
	e.history.mu.Lock()
	defer e.history.mu.Unlock()
	if e.result == nil {
		out.At = e.history.now()
		e.result = &out
	}
}

// Drop takes back an operation that was not sent after all.
func (e *Entry) Drop() {
	e.history.mu.Lock()
	defer e.history.mu.Unlock()
	e.history.entries = slices.DeleteFunc(e.history.entries, func(other *Entry) bool { return other == e })
}

// Operations is the history as porcupine takes it: what has no result, or an Unfinished one, returns at its end.
func (h *History) Operations() []porcupine.Operation {
	h.mu.Lock()
	defer h.mu.Unlock()
	end := h.now()
	var all []porcupine.Operation
	for _, e := range h.entries {
		out := Result{Outcome: Unfinished, At: end}
		if e.result != nil && e.result.Outcome != Unfinished {
			out = *e.result
		}
		all = append(all, porcupine.Operation{
			ClientId: e.client, Input: e.Operation, Call: int64(e.At), Output: out, Return: int64(out.At),
		})
	}
	return all
}

// Unfinished counts the operations that have no result.
func (h *History) Unfinished() (n int) {
	for _, op := range h.Operations() {
		if op.Output.(Result).Outcome == Unfinished {
			n++
		}
	}
	return n
}

// Met counts the kinds of operations with what came of them.
func (h *History) Met() map[Kind]map[Outcome]int {
	met := map[Kind]map[Outcome]int{}
	for _, op := range h.Operations() {
		kind := op.Input.(Operation).Kind
		if met[kind] == nil {
			met[kind] = map[Outcome]int{}
		}
		met[kind][op.Output.(Result).Outcome]++
	}
	return met
}
