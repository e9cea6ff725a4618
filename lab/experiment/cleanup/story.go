package cleanup

import "strconv"

// Step is something that was done, and what came of it.
type Step struct {
	Does   string `json:"does"`
	Answer string `json:"answer"`
}

// Steps that more than one place knows by name.
const (
	insertStep   = "INSERT the claim"
	selectStep   = "SELECT the claim"
	workStep     = "the work, in a transaction"
	cleanupStep  = "the clean-up: UPDATE ... SET status = 'failed'"
	rollbackStep = "ROLLBACK"
)

// story is the steps of one request after another. nil: nobody writes them down.
type story struct{ steps []Step }

func (s *story) say(does, answer string) {
	if s != nil {
		s.steps = append(s.steps, Step{does, answer})
	}
}

// errorText is the name of an error; empty: none.
func errorText(err error) string {
	if err == nil {
		return ""
	}
	return nameOf(err)
}

func okOr(err error) string {
	if err == nil {
		return "ok"
	}
	return nameOf(err)
}

func rowsOr(n int64, err error) string {
	switch {
	case err != nil:
		return nameOf(err)
	case n == 1:
		return "1 row"
	}
	return strconv.FormatInt(n, 10) + " rows"
}

func rowOr(one bool, err error) string {
	n := int64(0)
	if one {
		n = 1
	}
	return rowsOr(n, err)
}

// stepOf is the answer of the first step of this name; empty: there is none.
func stepOf(steps []Step, does string) string {
	for _, s := range steps {
		if s.Does == does {
			return s.Answer
		}
	}
	return ""
}
