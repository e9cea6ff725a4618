package model

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// undecided is how long the check of one history may take. A history that is in order takes milliseconds.
const undecided = time.Minute

// check holds the history against the model. Where it is illegal, page is the file that shows it.
func (r *run) check(t testing.TB) (result porcupine.CheckResult, page string) {
	t.Helper()
	specification := Model()
	history := r.history.Operations()
	result, found := porcupine.CheckOperationsVerbose(specification, history, undecided)
	if result == porcupine.Ok {
		return result, ""
	}
	t.Log(Explain(found, history))
	file, err := os.CreateTemp("", fmt.Sprintf("pgidem-model-%d-*.html", r.seed))
	if err == nil {
		err = porcupine.Visualize(specification, found, file)
	}
	if err == nil {
		err = file.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return result, file.Name()
}
