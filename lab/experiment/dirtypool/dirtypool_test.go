package dirtypool

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pgidem/pgidem/lab/workbench"
)

const testRounds = 2

var play2 = sync.OnceValues(func() (*Result, error) {
	result, err := (&DirtyPool{Rounds: testRounds}).Run(context.Background(), &workbench.Bench{})
	if err != nil {
		return nil, err
	}
	return result.(*Result), nil
})

// played is a small run, the same for all tests.
func played(t *testing.T) *Result {
	t.Helper()
	r, err := play2()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestFourStatementsOnOneDirtyConnectionDestroyAnothersRow(t *testing.T) {
	r := played(t)
	for _, connections := range []int{narrow, wide} {
		w := r.at(OnPool, pqSQL, connections, false)
		if w.Rounds != testRounds || w.Destroyed != testRounds || w.Kept != 0 || len(w.Survivors) != 0 {
			t.Errorf("%+v", w)
		}
		var steps []string
		for _, s := range w.Steps {
			steps = append(steps, s.Handler+":"+s.Does)
			if s.Connection != 1 || s.Answer != "done" {
				t.Errorf("on %d connections: %+v; want connection 1 and no complaint", connections, s)
			}
		}
		if got := strings.Join(steps, " "); got != "A:BEGIN B:INSERT A:INSERT A:ROLLBACK" {
			t.Errorf("the order is %s", got)
		}
	}
}

func TestRowSurvivesItsOwnRollbackWhereBeginWentElsewhere(t *testing.T) {
	w := played(t).at(OnPool, pqSQL, wide, true)
	if w.Kept != testRounds || w.Destroyed != 0 || !slices.Equal(w.Survivors, []string{B, A}) {
		t.Errorf("%+v", w)
	}
	if begun, wrote := w.step(A, begin), w.step(A, insert); begun.Connection == wrote.Connection {
		t.Errorf("BEGIN and INSERT both met connection %d", begun.Connection)
	}
	if back := w.step(A, rollback); !strings.Contains(back.Answer, noTransaction) {
		t.Errorf("the ROLLBACK got %q", back.Answer)
	}
	if w.LeftOpen != testRounds {
		t.Errorf("transactions left open: %d, want one a round", w.LeftOpen)
	}
}

func TestPgxHandsOnNoConnectionThatIsInATransaction(t *testing.T) {
	r := played(t)
	for _, kind := range []poolKind{pgxPool, pgxSQL} {
		scenes := r.all(OnPool, kind)
		if len(scenes) != 3 {
			t.Fatalf("%s: %d scenes, want 3", kind.name, len(scenes))
		}
		for _, w := range scenes {
			if w.Destroyed != 0 || w.Kept != testRounds || !slices.Equal(w.Survivors, []string{B, A}) {
				t.Errorf("%+v", w)
			}
			for _, s := range w.Steps {
				if s.Does == insert && s.Connection == w.step(A, begin).Connection {
					t.Errorf("%s, %s: %+v met the connection of the BEGIN", kind.name, w.size(), s)
				}
			}
		}
	}
	for _, w := range r.all(OnPool, pgxPool) {
		if w.LeftOpen != 0 {
			t.Errorf("transactions left open on pgxpool: %d, want none", w.LeftOpen)
		}
	}
}

func TestForUpdateOnThePoolKeepsNobodyOut(t *testing.T) {
	r := played(t)
	for h, want := range map[Handler]int{OnPool: 9, CheckedOut: 3, Product: 1} {
		n := 0
		for _, l := range r.Locks {
			if l.Handler != h {
				continue
			}
			n++
			if h == OnPool && !l.Beside || h != OnPool && (l.Beside || l.Outside) {
				t.Errorf("%+v", l)
			}
		}
		if n != want {
			t.Errorf("%s: %d locks, want %d", h, n, want)
		}
	}
}

func TestTransactionOnOneConnectionTakesItsOwnRowsBack(t *testing.T) {
	r := played(t)
	scenes := slices.Concat(r.all(CheckedOut), r.all(Product))
	if len(scenes) != 8 {
		t.Fatalf("%d scenes, want 8", len(scenes))
	}
	for _, w := range scenes {
		if w.wrong() != 0 || w.LeftOpen != 0 || w.Rounds != testRounds || !slices.Equal(w.Survivors, []string{B}) {
			t.Errorf("%+v", w)
		}
		a, b := w.step(A, insert).Connection, w.step(B, insert).Connection
		if a != w.step(A, begin).Connection || (a == b) != (w.Connections == narrow) {
			t.Errorf("A is on connection %d, B on %d: %+v", a, b, w.Scene)
		}
	}
}

// The one sentence of the article that does not hold everywhere: a pool that keeps dirty connections keeps their locks.
func TestRunShowsWhatItIsFor(t *testing.T) {
	s := played(t).Section()
	if failed := s.Failed(); len(failed) > 0 {
		t.Errorf("%+v", failed)
	}
	for _, f := range s.Findings {
		if !f.Holds && !strings.HasPrefix(f.Claim, "The lock is released") {
			t.Errorf("%+v", f)
		}
	}
}

func TestCheckNamesTheFlag(t *testing.T) {
	if err := New().Check(); err != nil {
		t.Error(err)
	}
	if err := new(DirtyPool).Check(); err == nil || !strings.Contains(err.Error(), "--rounds is 0") {
		t.Error(err)
	}
}
