package bench

import "github.com/pgidem/pgidem/lab/trials"

// Result is what was measured.
type Result struct {
	Operations  int `json:"operations"` // of an arm in a trial
	Workers     int `json:"workers"`
	Connections int `json:"connections"`
	Trials      int `json:"trials"`
	Calls       int `json:"calls"` // of an arm under a delay

	Rows    []Row     `json:"rows"`    // an arm each
	Ratios  []Ratio   `json:"ratios"`  // a target each
	Alone   []Count   `json:"alone"`   // an arm each, one caller
	Crowd   []Count   `json:"crowd"`   // an arm each, Workers callers
	Replays []Count   `json:"replays"` // a mode each, of very many finished keys
	Delays  []Delayed `json:"delays"`  // an arm each
}

// Row is how fast an arm was.
type Row struct {
	Arm          string        `json:"arm"`
	Name         string        `json:"name"`
	Ours         bool          `json:"ours"`
	Skipped      string        `json:"skipped,omitempty"` // why it did not run
	CallsASecond trials.Spread `json:"calls_a_second,omitzero"`
	Trials       []Trial       `json:"trials,omitempty"`
}

func (r Row) rates() []float64 {
	return trials.Figures(r.Trials, func(t Trial) float64 { return t.CallsASecond })
}

// row is the row of an arm; nil: it did not run.
func (r *Result) row(arm string) *Row {
	for i := range r.Rows {
		if r.Rows[i].Arm == arm && len(r.Rows[i].Trials) > 0 {
			return &r.Rows[i]
		}
	}
	return nil
}

// ratio is how much faster one arm is than another, round by round; nil: one of them did not run.
func (r *Result) ratio(arm, than string) *trials.Spread {
	a, b := r.row(arm), r.row(than)
	if a == nil || b == nil {
		return nil
	}
	s := trials.Ratio(a.rates(), b.rates())
	return &s
}

// countOf is what was counted of an arm; nil: it was not.
func countOf(counts []Count, arm string) *Count {
	for i := range counts {
		if counts[i].Arm == arm {
			return &counts[i]
		}
	}
	return nil
}
