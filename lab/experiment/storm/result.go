package storm

import (
	"github.com/pgidem/pgidem/lab/design"
)

// Result is what the experiment measured.
type Result struct {
	Keys         int     `json:"keys"`
	Copies       int     `json:"copies"`
	Workers      int     `json:"workers"`
	DelaySeconds float64 `json:"delay_seconds"`
	Trials       int     `json:"trials"`
	DelayKeys    int     `json:"delay_keys"`

	Rows       []Row       `json:"rows"`       // a design each
	Slow       []Series    `json:"slow"`       // a design each
	Rehearsals []Rehearsal `json:"rehearsals"` // of check-then-act
}

// Names that findings look for.
var (
	none         = design.None{}.Name()
	checkThenAct = design.CheckThenAct{}.Name()
	claim        = design.Claim{}.Name()
	transaction  = design.Transaction{}.Name()
	redisLock    = design.RedisLock{}.Name()
)

// row is the row of a design; one that did not run has no trials.
func (r *Result) row(design string) Row {
	for _, row := range r.Rows {
		if row.Design == design {
			return row
		}
	}
	return Row{Design: design}
}

// of are those rows that ran.
func (r *Result) of(designs ...string) []Row {
	var rows []Row
	for _, d := range designs {
		if row := r.row(d); len(row.Trials) > 0 {
			rows = append(rows, row)
		}
	}
	return rows
}

// ours are the product's rows.
func (r *Result) ours() []Row {
	var rows []Row
	for _, row := range r.Rows {
		if row.Article == nil {
			rows = append(rows, row)
		}
	}
	return rows
}
