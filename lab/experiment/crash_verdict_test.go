package experiment

import (
	"slices"
	"testing"
)

func TestCrashProblems(t *testing.T) {
	t.Parallel()
	safe := CrashRow{Design: "safe", Once: true, Kills: 10, Charges: 100, Answered: 100}
	naive := CrashRow{Design: "naive", Kills: 10, Charges: 110, Duplicates: 10, Answered: 100}
	listed := CrashRow{Design: "listed", Once: true, Operator: true, Kills: 10, Charges: 100, Unresolved: 10, Answered: 100}
	with := func(r CrashRow, change func(*CrashRow)) CrashRow {
		change(&r)
		return r
	}
	for _, c := range []struct {
		claim string
		row   CrashRow
		want  []string
	}{
		{"none when each does what it is for", safe, nil},
		{"a design that is not safe must charge again", naive, nil},
		{"at each crash", with(naive, func(r *CrashRow) { r.Duplicates = 9 }),
			[]string{"naive: duplicate charges: 9, and each of the 10 crashes was to bring one: the test has not hit where it aims"}},
		{"keys may be an operator's", listed, nil},
		{"also after an error", with(listed, func(r *CrashRow) { r.Unresolved, r.Failed = 12, 2 }), nil},
		{"but no others", with(listed, func(r *CrashRow) { r.Unresolved = 11 }),
			[]string{"listed: keys that are left to an operator: 11, and there were to be 10"}},
		{"and all that were killed", with(listed, func(r *CrashRow) { r.Unresolved = 9 }),
			[]string{"listed: keys that are left to an operator: 9, and there were to be 10"}},
		{"nor any of another policy", with(safe, func(r *CrashRow) { r.Unresolved = 1 }),
			[]string{"safe: keys that are left to an operator: 1, and there were to be 0"}},
		{"a duplicate of a safe one", with(safe, func(r *CrashRow) { r.Duplicates = 1 }),
			[]string{"safe: duplicate charges: 1, and it promises none"}},
		{"a payment that was lost", with(safe, func(r *CrashRow) { r.Missing = 2 }),
			[]string{"safe: payments that were never charged: 2"}},
		{"a client without an answer", with(safe, func(r *CrashRow) { r.Answered = 99 }),
			[]string{"safe: payments that were answered: 99 of 100"}},
		{"a worker that was not killed", with(safe, func(r *CrashRow) { r.Kills = 9 }),
			[]string{"safe: workers killed: 9, and there were to be 10"}},
	} {
		t.Run(c.claim, func(t *testing.T) {
			result := CrashResult{Keys: 100, Kills: 10, Rows: []CrashRow{safe, c.row, naive}}
			if got := result.Problems(); !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
