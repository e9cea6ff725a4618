package crash

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pgidem/pgidem/lab/report"
)

func TestRowIsHeldToWhatItIsFor(t *testing.T) {
	t.Parallel()
	safe := Row{Once: true, Kills: 10, Charges: 100, Answered: 100}
	naive := Row{Kills: 10, Charges: 110, Duplicates: 10, Answered: 100}
	listed := Row{Once: true, Operator: true, Kills: 10, Charges: 100, Unresolved: 10, Answered: 100}
	with := func(r Row, change func(*Row)) Row {
		change(&r)
		return r
	}
	for _, c := range []struct {
		claim string
		row   Row
		want  []string
	}{
		{"there is nothing to say when it does", safe, nil},
		{"a design that is not safe must charge again", naive, nil},
		{"at each crash", with(naive, func(r *Row) { r.Duplicates = 9 }),
			[]string{"duplicate charges: 9, and each of the 10 crashes was to bring one: the test has not hit where it aims"}},
		{"keys may be an operator's", listed, nil},
		{"also after an error", with(listed, func(r *Row) { r.Unresolved, r.Failed = 12, 2 }), nil},
		{"but no others", with(listed, func(r *Row) { r.Unresolved = 11 }),
			[]string{"keys that are left to an operator: 11, and there were to be 10"}},
		{"and all that were killed", with(listed, func(r *Row) { r.Unresolved = 9 }),
			[]string{"keys that are left to an operator: 9, and there were to be 10"}},
		{"nor any of another policy", with(safe, func(r *Row) { r.Unresolved = 1 }),
			[]string{"keys that are left to an operator: 1, and there were to be 0"}},
		{"a duplicate of a safe one", with(safe, func(r *Row) { r.Duplicates = 1 }),
			[]string{"duplicate charges: 1, and it promises none"}},
		{"a payment that was lost", with(safe, func(r *Row) { r.Missing = 2 }), []string{"payments that were never charged: 2"}},
		{"a client without an answer", with(safe, func(r *Row) { r.Answered = 99 }),
			[]string{"payments that were answered: 99 of 100"}},
		{"a worker that was not killed", with(safe, func(r *Row) { r.Kills = 9 }),
			[]string{"workers killed: 9, and there were to be 10"}},
	} {
		t.Run(c.claim, func(t *testing.T) {
			result := Result{Keys: 100, Kills: 10, Rows: []Row{c.row}}
			if got := result.problems(c.row); !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
			f := result.findings()
			if len(f) != 1 || !f[0].Must || f[0].Holds != (len(c.want) == 0) {
				t.Fatalf("findings %+v", f)
			}
			if !f[0].Holds && f[0].Measured != strings.Join(c.want, "; ") {
				t.Errorf("it does not say what is wrong: %+v", f)
			}
		})
	}
}

// crashed is what the crashes make of every design, at a tenth of the article's size.
func crashed() *Result {
	result := &Result{Keys: 100, Kills: 10, Workers: 8, StaleSeconds: 0.1, RetrySeconds: 0.12, LeaseSeconds: 0.3}
	for i := range variants {
		r := variants[i].row()
		r.Kills, r.Charges, r.Answered, r.Seconds = 10, 100, 100, 2
		if !r.Once {
			r.Charges, r.Duplicates = 110, 10
		}
		if r.Operator {
			r.Unresolved = 10
		}
		result.Rows = append(result.Rows, r)
	}
	return result
}

func TestEveryClaimOfTheTableIsAFinding(t *testing.T) {
	t.Parallel()
	findings := crashed().findings()
	if len(findings) != len(variants)+1 {
		t.Fatalf("%d findings for %d rows", len(findings), len(variants))
	}
	for i, v := range variants {
		want := report.Finding{Source: "pgidem", Claim: v.claim, Measured: findings[i].Measured, Holds: true, Must: true}
		if v.article != nil {
			want.Source = "article 003"
			if (v.article.Duplicates > 0) == v.once {
				t.Errorf("the article has %d duplicates for %s", v.article.Duplicates, v.label)
			}
		}
		if findings[i] != want || v.claim == "" {
			t.Errorf("%+v, want %+v", findings[i], want)
		}
	}
	if got, want := findings[0].Measured, "110 charges, 10 of them duplicates, after 10 crashes"; got != want {
		t.Errorf("measured %q, want %q", got, want)
	}
	const listed = "100 charges, 0 of them duplicates, after 10 crashes; 10 keys listed and settled"
	if got := findings[11].Measured; got != listed {
		t.Errorf("measured %q, want %q", got, listed)
	}
}

func TestAskingIsAGuessWhereTheProcessorDeniesWhatIsOnItsWay(t *testing.T) {
	t.Parallel()
	result := crashed()
	f := result.asking()[0]
	const want = "brought 0 second charges; one that denies it, and repeats a key, 10"
	if f.Source != "article 004" || f.Holds || f.Must || !strings.Contains(f.Measured, want) {
		t.Errorf("%+v", f)
	}
	result.Rows[len(result.Rows)-1].Duplicates = 0
	if f := result.asking()[0]; !f.Holds {
		t.Errorf("without duplicates: %+v", f)
	}
	result.Rows[10].Duplicates = 1
	if f := result.asking()[0]; f.Holds {
		t.Errorf("with one where the processor says what is pending: %+v", f)
	}
}

func TestSkippedRowIsNoFinding(t *testing.T) {
	t.Parallel()
	result := crashed()
	for i := range result.Rows {
		if variants[i].redis {
			result.Rows[i] = variants[i].row()
			result.Rows[i].Skipped = "skipped: no redis-server"
		}
	}
	findings := result.findings()
	if len(findings) != len(variants) || strings.Contains(fmt.Sprint(findings), "Redis") {
		t.Errorf("findings %+v", findings)
	}
	want := []string{"Redis SET NX, expiry as takeover: skipped: no redis-server"}
	if s := result.Section(); len(s.Failed()) > 0 || !slices.Equal(s.Skipped, want) {
		t.Errorf("failed %+v, skipped %q", s.Failed(), s.Skipped)
	}
}
