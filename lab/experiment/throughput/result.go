package throughput

import "github.com/pgidem/pgidem/lab/design"

// Result is what the experiment measured.
type Result struct {
	Keys        int `json:"keys"`
	Workers     int `json:"workers"`
	Connections int `json:"connections"`
	Trials      int `json:"trials"`
	Waves       int `json:"waves"`
	// DelaySeconds is how long a charge takes among Crowds.
	DelaySeconds float64 `json:"delay_seconds"`

	Rows   []Row   `json:"rows"`   // a design each
	Hot    []Hot   `json:"hot"`    // a design each
	Crowds []Crowd `json:"crowds"` // a design each
}

// Names that findings look for.
var (
	none        = design.None{}.Name()
	redisLock   = design.RedisLock{}.Name()
	claim       = design.Claim{}.Name()
	transaction = design.Transaction{}.Name()
	do          = design.Do{}.Name()
	hold        = design.HoldRow{}.Name()
)

// row is the row of a design.
func (r *Result) row(design string) Row {
	for _, row := range r.Rows {
		if row.Design == design {
			return row
		}
	}
	return Row{Design: design}
}

// rate is the median of a design's requests a second; 0: it did not run.
func (r *Result) rate(design string) float64 { return r.row(design).RequestsPerSecond.Median }

// hot are the waves of a design.
func (r *Result) hot(design string) Hot {
	for _, h := range r.Hot {
		if h.Design == design {
			return h
		}
	}
	return Hot{Design: design}
}

// crowd is the crowd of a design.
func (r *Result) crowd(design string) Crowd {
	for _, c := range r.Crowds {
		if c.Design == design {
			return c
		}
	}
	return Crowd{Design: design}
}
