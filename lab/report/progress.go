package report

import (
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"
)

// Progress shows how far an experiment is: a bar on a terminal, elsewhere a line a run when it has ended.
type Progress struct {
	W        io.Writer
	Terminal bool
}

// Start shows a run of so many steps. Call step after each, from any goroutine, and ended once.
func (p Progress) Start(name string, steps int) (step, ended func()) {
	if !p.Terminal {
		began := time.Now()
		return func() {}, func() {
			fmt.Fprintf(p.W, "%s: %s done in %.1f s\n", name, Number(steps), time.Since(began).Seconds())
		}
	}
	bar := progressbar.NewOptions(steps,
		progressbar.OptionSetWriter(p.W),
		progressbar.OptionSetDescription(fmt.Sprintf("%-32s", name)), // the longest name has 32 columns
		progressbar.OptionSetWidth(30),
		progressbar.OptionShowCount(),
		progressbar.OptionThrottle(50*time.Millisecond),
		progressbar.OptionSetPredictTime(false),
		progressbar.OptionUseANSICodes(true), // clears what the keyboard echoed too
		progressbar.OptionClearOnFinish(),
	)
	return func() { _ = bar.Add(1) }, func() { _ = bar.Finish() } // a terminal that cannot be written to stops no experiment
}
