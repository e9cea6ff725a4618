package race

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/pgidem/pgidem/lab/experiment"
	"github.com/pgidem/pgidem/lab/report/chart"
)

// as is a race that went as the article says.
func as() *Result {
	r := &Result{Workers: 8, Trials: 1, DelaySeconds: 0.05, Rounds: 3, RoundSeconds: 0.7}
	for name, d := range map[string]Design{
		readCommitted:     made(Naive, 8, 0, "", 0),
		repeatableRead:    made(Naive, 8, 0, "", 0),
		serializable:      made(Halfway, 1, 0, "40001", 7),
		serializableRetry: made(Safe, 1, 7, "", 0),
		lockMissing:       made(Naive, 8, 0, "", 0),
		lockExisting:      made(Halfway, 0, 8, "", 0),
		primaryKey:        made(Halfway, 1, 0, "23505", 7),
		primaryKeyCaught:  made(Safe, 1, 7, "", 0),
		referee:           made(Safe, 1, 7, "", 0),
		storeDo:           made(Ours, 1, 7, "", 0),
		storeHold:         made(Ours, 1, 7, "", 0),
	} {
		d.Name = name
		switch name {
		case serializableRetry:
			d.RunAgain = 9
		case lockExisting: // charged before
			d.Trials[0].Charges, d.Trials[0].AmountCents = 1, price
		case readCommitted:
			d.Article = &Article{Charges: 8, Cents: 392_00}
		}
		r.Designs = append(r.Designs, d)
	}
	for _, b := range []Bystander{baseline, beside, inside} {
		b.PerSecond, b.Paid = []float64{3000, 1000, 2000}, 500
		if b.Isolation == pgx.Serializable {
			b.PredicateLocks, b.PerSecond, b.RunAgain = 9, []float64{1500, 1700, 1600}, 12
		}
		r.Bystanders = append(r.Bystanders, b)
	}
	return r
}

// made is a design whose one trial ended so.
func made(kind Kind, charged, replays int, state string, errors int) Design {
	t := experiment.Result{
		Requests: charged + replays + errors, Payments: 1, Charges: charged, Duplicates: max(0, charged-1),
		AmountCents: int64(charged) * price, Charged: charged, Replays: replays, Failed: errors,
	}
	if errors > 0 {
		t.SQLStates = map[string]int{state: errors}
	}
	return Design{Kind: kind, Trials: experiment.Trials{t}}
}

// trial is the one of a design in r, to be changed.
func (r *Result) trial(name string) *experiment.Result { return &r.design(name).Trials[0] }

func TestEveryFindingFallsWithItsFigure(t *testing.T) {
	one := func(name string) func(*Result) {
		return func(r *Result) { *r.trial(name) = made(Naive, 1, 7, "", 0).Trials[0] }
	}
	twice := func(name string) func(*Result) {
		return func(r *Result) { r.trial(name).Charges, r.trial(name).Duplicates = 2, 1 }
	}
	failed := func(name string) func(*Result) {
		return func(r *Result) { r.trial(name).Failed, r.trial(name).Replays = 1, 6 }
	}
	states := func(name, state string) func(*Result) {
		return func(r *Result) { r.trial(name).SQLStates = map[string]int{state: 6, "XX000": 1} }
	}
	twoAnswers := func(name string) func(*Result) {
		return func(r *Result) { r.trial(name).Contradicted = 1 }
	}
	breaks := map[string][]func(*Result){
		"Check-then-insert without":        {one(readCommitted)},
		"Every one of the workers charges": {func(r *Result) { r.trial(readCommitted).Charges = 7 }},
		"FOR UPDATE on a row that does":    {one(lockMissing)},
		"FOR UPDATE works on a row":        {twice(lockExisting), failed(lockExisting)},
		"REPEATABLE READ does not help":    {one(repeatableRead), failed(repeatableRead)},
		"SERIALIZABLE helps":               {twice(serializable), states(serializable, "40001"), one(serializable)},
		"All callers but one get the 40":   {states(serializable, "40001")},
		"SERIALIZABLE costs a retry loop": {
			failed(serializableRetry), twice(serializableRetry),
			func(r *Result) { r.Designs[r.index(serializableRetry)].RunAgain = 0 },
		},
		"A primary key behind the SELECT": {twice(primaryKey), states(primaryKey, "23505"), one(primaryKey)},
		"All callers but one get the 23":  {states(primaryKey, "23505")},
		"To catch the conflict":           {twice(primaryKeyCaught), failed(primaryKeyCaught)},
		"With INSERT ON CONFLICT":         {twice(referee), failed(referee)},
		"For one key and one row":         {one(serializable)},
		"SERIALIZABLE costs SSI's":        nil, // does not hold as it is
		"Under SERIALIZABLE also": {
			func(r *Result) { r.Bystanders[2].PerSecond = []float64{3100, 1100, 2100} },
			func(r *Result) { r.Bystanders[2].PredicateLocks = 0 },
		},
		"Store.Do charges once": {twice(storeDo), failed(storeDo), twoAnswers(storeDo)},
		"So does Store.Hold":    {twice(storeHold), failed(storeHold), twoAnswers(storeHold)},
	}
	if got := as().findings(); len(got) != len(breaks) {
		t.Errorf("%d findings, %d are broken here", len(got), len(breaks))
	}
	for begins, all := range breaks {
		if got := holds(t, as(), begins); got != (len(all) > 0) {
			t.Errorf("%s ...: holds is %t for a race that went as the article says", begins, got)
		}
		for i, change := range all {
			r := as()
			change(r)
			if holds(t, r, begins) {
				t.Errorf("%s ...: it holds without its figure (%d)", begins, i)
			}
		}
		if holds(t, &Result{}, begins) {
			t.Errorf("%s ...: it holds where nothing ran", begins)
		}
	}
	r := as()
	r.Bystanders[1].PredicateLocks = 1
	if !holds(t, r, "SERIALIZABLE costs SSI's") {
		t.Error("a bystander with a predicate lock is none that is tracked")
	}
}

func (r *Result) index(name string) int {
	for i, d := range r.Designs {
		if d.Name == name {
			return i
		}
	}
	return -1
}

func holds(t *testing.T, r *Result, begins string) bool {
	t.Helper()
	for _, f := range r.findings() {
		if strings.HasPrefix(f.Claim, begins) {
			return f.Holds
		}
	}
	t.Fatalf("no finding begins with %s", begins)
	return false
}

func TestSectionOfARace(t *testing.T) {
	s := as().Section()
	if err := s.Check(); err != nil {
		t.Error(err)
	}
	if s.Name != "race" || !strings.Contains(s.Lead, "8 workers") || !strings.Contains(s.Lead, "takes 50ms") {
		t.Errorf("%s, %s: %s", s.Name, s.Articles, s.Lead)
	}
	tones := map[string]chart.Tone{}
	cells := map[string][]string{}
	for _, row := range s.Tables[0].Rows {
		tones[row.Cells[0]], cells[row.Cells[0]] = row.Tone, row.Cells
	}
	want := map[string]chart.Tone{
		readCommitted: chart.Bad, repeatableRead: chart.Bad, lockMissing: chart.Bad,
		serializable: chart.Plain, lockExisting: chart.Plain, primaryKey: chart.Plain,
		serializableRetry: chart.Good, primaryKeyCaught: chart.Good, referee: chart.Good,
		storeDo: chart.Good, storeHold: chart.Good,
	}
	if !maps.Equal(tones, want) {
		t.Errorf("tones %v", tones)
	}
	for name, want := range map[string]string{
		readCommitted:     "8 | $392.00 | charged × 8 | 8 × = $392.00",
		serializable:      "1 | $49.00 | charged × 1, 40001 × 7 | –",
		serializableRetry: "1 | $49.00 | charged × 1, replayed × 7, run again × 9 | –",
	} {
		if got := strings.Join(cells[name][1:], " | "); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	paid := s.Charts[0].(chart.Bars)
	bar := chart.Bar{Label: readCommitted, Value: 392, Text: "$392.00, 8 × $49.00", Article: 392, Tone: chart.Bad}
	if len(paid.Bars) != 11 || !slices.Contains(paid.Bars, bar) {
		t.Errorf("no %+v in %+v", bar, paid.Bars)
	}
	reports := s.Charts[1].(chart.Bars).Bars
	if b := reports[0]; len(reports) != 3 || b.Value != 2000 || b.Low != 1000 || b.High != 3000 {
		t.Errorf("%+v", reports)
	}
	row := strings.Join(s.Tables[1].Rows[2].Cells, " | ")
	if row != "SERIALIZABLE, next to SERIALIZABLE payments | 1,600 | 1,500–1,700 | 0.80 | 9 | 500 | 12" {
		t.Errorf("the report's row: %s", row)
	}
}

func TestErrorsThatAreNotPostgreSQLsAreCountedToo(t *testing.T) {
	d := made(Naive, 1, 0, "40001", 3)
	d.Trials[0].Failed, d.Trials[0].InFlight = 4, 2
	if got := d.answers(); got != "charged × 1, 409 × 2, 40001 × 3, other error × 1" {
		t.Error(got)
	}
}
