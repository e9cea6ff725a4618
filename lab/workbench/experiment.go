package workbench

import (
	"context"

	"github.com/pgidem/pgidem/lab/report"
)

// Experiment is one of the lab's. Its exported fields are its sizes; New of its package gives those of a full run, a test
// smaller ones.
type Experiment interface {
	// Check reports the first size that makes no experiment, in the words of its flag.
	Check() error
	// Run measures. An error is a run that could not be ended; what was measured and is not as it should be is a Finding.
	Run(ctx context.Context, b *Bench) (Result, error)
}

// Result is what an experiment has measured. It marshals as JSON.
type Result interface {
	// Section shows it to people.
	Section() report.Section
}
