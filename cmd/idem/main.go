// Command idem migrates schema idem, sweeps finished keys, shows one, and checks that the protocol can run. See idem --help.
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
