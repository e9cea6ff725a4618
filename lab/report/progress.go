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

// Start shows a run of so many requests. Call sent after each, from any goroutine, and ended once.
func (p Progress) Start(name string, requests int) (sent, ended func()) {
	if !p.Terminal {
		began := time.Now()
		return func() {}, func() {
			fmt.Fprintf(p.W, "%s: %s requests in %.1f s\n", name, Number(requests), time.Since(began).Seconds())
		}
	}
	bar := progressbar.NewOptions(requests,
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
