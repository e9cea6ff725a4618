package model

import "github.com/pgidem/pgidem/idem"

// lookup reads the key's row.
func (k key) lookup(out Result) bool {
	switch out.Outcome {
	case None:
		return k.status == none || k.swept
	case OK:
		return k.shows(out) && k.attempt == out.Attempt && (k.fence < 0 || k.fence == out.Fence)
	case Unfinished:
		return true
	}
	return false
}

func (k key) shows(out Result) bool {
	switch out.State {
	case idem.StateHeld:
		return k.status == held
	case idem.StateAbandoned:
		return k.isAbandoned(out.At, 0)
	case idem.StateReleased:
		return k.status == released
	case idem.StateCommitted, idem.StateFailed:
		return k.status == finished && k.answer == out.Answer
	}
	return false
}

// look reads the user's own table.
func (k key) look(out Result) bool { return out.Outcome == Unfinished || k.rows == out.Rows }
