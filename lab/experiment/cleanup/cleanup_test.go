package cleanup

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pgidem/pgidem/lab/workbench"
)

const testKeys = 3

var run3 = sync.OnceValues(func() (*Result, error) {
	result, err := (&Cleanup{Keys: testKeys}).Run(context.Background(), &workbench.Bench{})
	if err != nil {
		return nil, err
	}
	return result.(*Result), nil
})

// ran is a small run, the same for all tests.
func ran(t *testing.T) *Result {
	t.Helper()
	r, err := run3()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestCleanUpInTheSameTransactionDoesNothingForThreeReasons(t *testing.T) {
	r := ran(t)
	for _, c := range []struct{ design, fault, update, first string }{
		{insideSQL, faultReceipt, "25P02", "500 25P02"},
		{insideHealthy, faultMail, "23514", "500 23514"},
		{insideAllowed, faultMail, "1 row", "500 mail server down"},
	} {
		d := r.of(c.design, c.fault)
		if got := stepOf(d.Steps, cleanupStep); got != c.update {
			t.Errorf("%s: the UPDATE got %q, want %q", c.design, got, c.update)
		}
		if got := stepOf(d.Steps, selectStep); got != "in_progress" {
			t.Errorf("%s: the next request read %q", c.design, got)
		}
		if got := d.told(atFirst, c.first); got != testKeys {
			t.Errorf("%s: %d first requests were told %q: %v", c.design, got, c.first, d.Stages)
		}
	}
}

func TestStuckKeyIsDeadForEver(t *testing.T) {
	r := ran(t)
	for _, v := range []Variant{
		{insideSQL, faultReceipt}, {insideHealthy, faultMail}, {insideAllowed, faultMail}, {deleted, faultKilled},
	} {
		d := r.of(v.Name, v.Fault)
		if d.Dead != testKeys || d.Completed != 0 || d.Charges != 0 {
			t.Errorf("%+v", d)
		}
		for _, when := range []string{atOnce, aLeaseLater, aYearLater, afterOperator} {
			if got := d.told(when, "409 request_in_progress"); got != testKeys {
				t.Errorf("%s, %s: %d were told that somebody is at work: %v", v.Name, when, got, d.Stages)
			}
		}
	}
}

func TestKeyThatIsGivenBackIsChargedByTheRetry(t *testing.T) {
	r := ran(t)
	for _, v := range []Variant{
		{marked, faultReceipt}, {deleted, faultReceipt}, {together, faultReceipt}, {do, faultReceipt}, {doCleaningUp, faultReceipt},
		{holdTransient, faultReach}, {holdRerun, faultLost},
	} {
		d := r.of(v.Name, v.Fault)
		if d.told(atOnce,
			"201 charged") != testKeys || d.Charges != testKeys || d.ChargedTwice != 0 || d.Completed != testKeys || len(d.Stages) != 2 {
			t.Errorf("%+v", d)
		}
	}
	if d := r.of(swept, faultKilled); d.told(aLeaseLater, "201 charged") != testKeys || d.Charges != testKeys {
		t.Errorf("%+v", d)
	}
}

func TestDeletingTheClaimChargesTwiceWhenTheAnswerWasLost(t *testing.T) {
	if d := ran(t).of(deleted, faultLost); d.ChargedTwice != testKeys || d.Charges != 2*testKeys {
		t.Errorf("%+v", d)
	}
}

func TestUnknownOutcomeIsNamedWithinALeaseAndNotForEver(t *testing.T) {
	r := ran(t)
	for _, c := range []struct {
		fault, atOnce, atLast string
	}{
		{faultLost, "409 outcome-unknown", "200 replayed"},
		{faultKilled, "409 in-flight", "201 charged"},
	} {
		d := r.of(holdRefuse, c.fault)
		if d.told(atOnce, c.atOnce) != testKeys || d.told(aLeaseLater, "409 outcome-unknown") != testKeys || d.Listed != testKeys ||
			d.told(afterOperator, c.atLast) != testKeys || d.Charges != testKeys || d.ChargedTwice != 0 || d.Dead != 0 {
			t.Errorf("%+v", d)
		}
	}
	d := r.of(holdRerun, faultKilled)
	if d.told(atOnce, "409 in-flight") != testKeys || d.told(aLeaseLater, "201 charged") != testKeys || d.Charges != testKeys {
		t.Errorf("%+v", d)
	}
}

func TestRowThatVanishes(t *testing.T) {
	r := ran(t)
	for _, c := range []struct {
		handler       string
		times, looks  int
		answer, again string
		rows          int
	}{
		{unguarded, 1, 1, "500 no rows in result set", "201 charged", 2},
		{guarded, 1, 2, "201 charged", "200 replayed", 2},
		{guarded, 2, 3, "201 charged", "200 replayed", 1},
		{guarded, 3, 3, "409 claim_contended", "201 charged", 1},
		{doLoses, 1, 2, "201 charged", "200 replayed", 2},
		{doLoses, 2, 3, "201 charged", "200 replayed", 2},
		{doLoses, 3, 3, "409 claim-contended", "201 charged", 2},
		{holdLoses, 1, 2, "201 charged", "200 replayed", 2},
		{holdLoses, 2, 3, "201 charged", "200 replayed", 2},
		{holdLoses, 3, 3, "409 claim-contended", "201 charged", 2},
	} {
		all := r.vanished(c.handler, c.times)
		if len(all) != c.rows {
			t.Errorf("%s, %d times: %d rows, want %d", c.handler, c.times, len(all), c.rows)
		}
		for _, v := range all {
			if v.Looks != c.looks || v.Answer != c.answer || v.Again != c.again || v.Charges != 1 {
				t.Errorf("%+v; want %+v", v, c)
			}
		}
	}
}

func TestSweepOfTheProductComesBetweenItsStatements(t *testing.T) {
	i := slices.IndexFunc(ran(t).Vanished, func(v Vanishing) bool { return v.By == bySweep && v.Handler == doLoses && v.Times == 1 })
	var does []string
	for _, s := range ran(t).Vanished[i].Steps {
		does = append(does, s.Does)
	}
	want := "the claim's INSERT has begun, a rival's call ends, the claim's INSERT goes on, the claim's INSERT is over, " +
		"idem sweep deletes the row, the claim's SELECT begins, the client is told"
	if got := strings.Join(does, ", "); got != want {
		t.Errorf("the steps are %s", got)
	}
}

func TestRunShowsWhatItIsFor(t *testing.T) {
	for _, f := range ran(t).Section().Findings {
		if !f.Holds {
			t.Errorf("%+v", f)
		}
	}
}

func TestCheckNamesTheFlag(t *testing.T) {
	if err := New().Check(); err != nil {
		t.Error(err)
	}
	if err := new(Cleanup).Check(); err == nil || !strings.Contains(err.Error(), "--keys is 0") {
		t.Error(err)
	}
}
