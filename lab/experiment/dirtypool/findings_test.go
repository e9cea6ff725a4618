package dirtypool

import (
	"bytes"
	"strings"
	"testing"

	"github.com/pgidem/pgidem/lab/report"
)

// fabricated is a run in which every sentence holds.
func fabricated() *Result {
	r := &Result{Rounds: 3}
	for _, s := range scenes() {
		w := Writes{Scene: s.Scene, Rounds: 3, Survivors: []string{B}}
		as, answer := 1, "done"
		if s.Handler == OnPool {
			w.Kept, w.Survivors, as, answer = 3, []string{B, A}, 2, "WARNING "+noTransaction+": none in progress"
			if s.Pool == pqSQL.name && !s.Overlap {
				w.Kept, w.Destroyed, w.Survivors, as, answer = 0, 3, nil, 1, "done"
			}
		}
		w.Steps = []Step{{A, begin, 1, "done"}, {B, insert, as, "done"}, {A, insert, as, "done"}, {A, rollback, as, answer}}
		r.Writes = append(r.Writes, w)
		if s.locks() {
			r.Locks = append(r.Locks, Lock{s.Scene, s.Handler == OnPool, s.Handler == OnPool})
		}
	}
	return r
}

// of changes one scene of the result.
func of(h Handler, kind poolKind, connections int, overlap bool, change func(*Writes)) func(*Result) {
	return func(r *Result) {
		for i := range r.Writes {
			if r.Writes[i].Scene == (Scene{h, kind.name, connections, overlap}) {
				change(&r.Writes[i])
			}
		}
	}
}

func lockOf(r *Result, h Handler) *Lock {
	for i := range r.Locks {
		if r.Locks[i].Handler == h {
			return &r.Locks[i]
		}
	}
	panic("there is no such lock")
}

func TestFindingFailsWithItsFigure(t *testing.T) {
	if failed := fabricated().Section().Failed(); len(failed) > 0 {
		t.Fatalf("%+v", failed)
	}
	first := func(change func(*Writes)) func(*Result) { return of(OnPool, pqSQL, narrow, false, change) }
	second := func(change func(*Writes)) func(*Result) { return of(OnPool, pqSQL, wide, true, change) }
	for _, c := range []struct {
		claim, broken string
		change        func(*Result)
	}{
		{"On a pool of one", "B's row survives once", first(func(w *Writes) { w.Destroyed-- })},
		{"On a pool of one", "B meets another connection", first(func(w *Writes) { w.Steps[1].Connection++ })},
		{"On a pool of four", "A's row is gone once", second(func(w *Writes) { w.Kept-- })},
		{"On a pool of four", "B's row is gone once", second(func(w *Writes) { w.Destroyed++ })},
		{"Both come from the same code", "timing decides nothing", of(OnPool, pqSQL, wide, false, func(w *Writes) { w.Destroyed = 0 })},
		{"In the wider pool", "BEGIN and INSERT meet", second(func(w *Writes) { w.Steps[2].Connection = 1 })},
		{"In the wider pool", "ROLLBACK ends a transaction", second(func(w *Writes) { w.Steps[3].Answer = "done" })},
		{"pgx hands on no connection", "B's row is gone once", of(OnPool, pgxPool, narrow, false, func(w *Writes) { w.Destroyed++ })},
		{"pgx hands on no connection", "A's row is gone once", of(OnPool, pgxSQL, wide, true, func(w *Writes) { w.Kept-- })},
		{"Any FOR UPDATE", "B is refused once", func(r *Result) { lockOf(r, OnPool).Beside = false }},
		{"The lock is released", "it is not, once", func(r *Result) { lockOf(r, OnPool).Outside = false }},
		{"A transaction belongs on", "A's row survives once", of(CheckedOut, pgxPool, wide, false, func(w *Writes) { w.Kept++ })},
		{"A transaction belongs on", "no lock was tried", func(r *Result) { r.Locks = nil }},
		{"Store.Do", "B's row is gone once", of(Product, pgxPool, narrow, false, func(w *Writes) { w.Destroyed++ })},
		{"Store.Do", "B gets the row", func(r *Result) { lockOf(r, Product).Beside = true }},
		{"Store.Do", "a transaction is left open", of(Product, pgxPool, wide, false, func(w *Writes) { w.LeftOpen++ })},
	} {
		t.Run(c.claim+", "+c.broken, func(t *testing.T) {
			r := fabricated()
			c.change(r)
			if f := finding(t, r, c.claim); f.Holds {
				t.Errorf("it holds all the same: %+v", f)
			}
		})
	}
	for _, f := range new(Result).findings() {
		if f.Holds {
			t.Errorf("it holds of nothing: %+v", f)
		}
	}
}

func finding(t *testing.T, r *Result, claim string) report.Finding {
	t.Helper()
	for _, f := range r.findings() {
		if strings.HasPrefix(f.Claim, claim) {
			return f
		}
	}
	t.Fatalf("there is no finding %q", claim)
	return report.Finding{}
}

func TestSectionShowsEveryScene(t *testing.T) {
	s := fabricated().Section()
	if len(s.Charts) == 0 || len(s.Tables) == 0 || s.Title == "" || s.Lead == "" || s.Articles == "" {
		t.Errorf("something is missing: %+v", s)
	}
	for _, table := range s.Tables {
		for _, row := range table.Rows {
			if len(row.Cells) != len(table.Columns) {
				t.Errorf("%s: %d cells under %d heads: %q", table.Title, len(row.Cells), len(table.Columns), row.Cells)
			}
		}
	}
	var text bytes.Buffer
	if err := (report.Text{Section: s}).Write(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"node-postgres (the article)", "pgxpool, Store.Do", "lib/pq, checked out", "is refused",
		"A: ROLLBACK", "A's row survived"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in:\n%s", want, &text)
		}
	}
}
