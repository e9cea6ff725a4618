package dirtypool

import "slices"

// Result is what became of the rows and of the lock.
type Result struct {
	Rounds int      `json:"rounds"`
	Writes []Writes `json:"writes"`
	Locks  []Lock   `json:"locks"`
}

// Scene is who works on what.
type Scene struct {
	Handler     Handler `json:"handler"`     // how A works
	Pool        string  `json:"pool"`        // of both handlers
	Connections int     `json:"connections"` // at most, of the pool
	// Overlap says that B has been given its connection when A begins, as a handler has whose statement is under way.
	Overlap bool `json:"overlap"`
}

// Handler is a way to run a transaction.
type Handler string

const (
	OnPool     Handler = "BEGIN on the pool"
	CheckedOut Handler = "checked out"
	Product    Handler = "Store.Do"
)

// Writes is what became of the rows of A and B in all rounds of a scene.
type Writes struct {
	Scene
	Steps     []Step   `json:"steps"`     // of the first round
	Survivors []string `json:"survivors"` // of the first round, by whose row it is
	Rounds    int      `json:"rounds"`
	Destroyed int      `json:"destroyed"` // rounds in which B's row was gone
	Kept      int      `json:"kept"`      // rounds in which A's row had survived A's ROLLBACK
	LeftOpen  int      `json:"left_open"` // transactions that stood open on the pool after all handlers had ended
}

// Step is one statement and what met it.
type Step struct {
	Handler    string `json:"handler"` // A or B
	Does       string `json:"does"`
	Connection int    `json:"connection"` // by the order in which the pool opened them
	Answer     string `json:"answer"`
}

// A and B are the handlers.
const (
	A = "A"
	B = "B"
)

// add counts a round.
func (w *Writes) add(round Writes) {
	if w.Rounds == 0 {
		w.Steps, w.Survivors = round.Steps, round.Survivors
	}
	w.Rounds++
	if !slices.Contains(round.Survivors, B) {
		w.Destroyed++
	}
	if slices.Contains(round.Survivors, A) {
		w.Kept++
	}
	w.LeftOpen += round.LeftOpen
}

// Lock is who got the row that A had locked with SELECT ... FOR UPDATE: whether it was given to B, on the same pool, and to a
// session of its own.
type Lock struct {
	Scene
	Beside  bool `json:"beside"`
	Outside bool `json:"outside"`
}
