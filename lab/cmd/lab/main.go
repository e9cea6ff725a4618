// Lab runs the project's experiments, each a subcommand, on a PostgreSQL server that it starts and removes.
//
// Exit codes: 0 the experiment shows what it is for; 1 it does not, or failed; 2 wrong use; 130 interrupted.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	os.Exit(run())
}

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal kills at once; the server goes all the same

	used := false // whether the command line was understood
	root := &cobra.Command{
		Use:               "lab",
		Short:             "Experiments with designs for payments that are sent more than once",
		PersistentPreRun:  func(*cobra.Command, []string) { used = true },
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
	}
	root.AddCommand(demoCommand(), crashWorkerCommand(), webhookHolderCommand())
	for _, c := range experiments() {
		root.AddCommand(c.cobra())
	}
	root.AddCommand(allCommand(experiments()))

	cmd, err := root.ExecuteContextC(ctx)
	switch {
	case err == nil:
		return 0
	case !used:
		fmt.Fprintf(os.Stderr, "lab: %v\nSee '%s --help'.\n", err, cmd.CommandPath())
		return 2
	case ctx.Err() != nil: // what failed then failed because of the signal
		fmt.Fprintln(os.Stderr, "lab: interrupted")
		return 130
	}
	fmt.Fprintf(os.Stderr, "lab: %v\n", err)
	return 1
}
