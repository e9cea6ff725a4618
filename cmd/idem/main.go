// Command idem migrates schema idem, sweeps finished keys, checks that the protocol can run, and lets operators look at keys and
// settle those that are stuck. See idem --help.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal kills
	err := newRoot().ExecuteContext(ctx)
	os.Exit(report(os.Stderr, err))
}
