package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/pgidem/pgidem/lab/database"
	"github.com/pgidem/pgidem/lab/experiment"
	"github.com/pgidem/pgidem/lab/payments"
	"github.com/pgidem/pgidem/lab/redis"
	"github.com/pgidem/pgidem/lab/report"
)

// crash is the command line of lab crash.
type crash struct {
	experiment.Crash
	json bool
}

func crashCommand() *cobra.Command {
	var c crash
	cmd := &cobra.Command{
		Use:   "crash",
		Short: "Kill workers between a charge and its completion mark",
		Long: `Crash repeats article 003's crash test on real processes. Workers charge payments
at a card processor, and some of them die by SIGKILL when the money is taken and
nothing says so yet; new workers go on, and clients come again until they are
answered. It runs the article's six designs, then the product's modes and
policies, counts the charges, prints them, and says what they mean.

It runs on a PostgreSQL server and a redis-server of its own, which it starts and
removes. Progress goes to standard error, the result to standard output. NO_COLOR
is respected.

It exits with 1 when a design that is safe charged a payment twice or never, or
left one without its answer, and also when one that is not safe did not charge
twice at each crash, for then it has shown nothing.`,
		Example: `  lab crash
  lab crash --keys 100 --kills 10
  lab crash --json | jq '.rows[] | {design, duplicates}'`,
		Args: func(cmd *cobra.Command, args []string) error {
			return errors.Join(cobra.NoArgs(cmd, args), c.check())
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.IntVar(&c.Keys, "keys", 1000, "payments, each with a key of its own")
	f.IntVar(&c.Kills, "kills", 100, "of them, those whose worker is killed")
	f.IntVar(&c.Workers, "workers", 8, fmt.Sprintf("how many are at work at once, 1 to %d", maxCrashWorkers))
	f.BoolVar(&c.json, "json", false, "write what was measured as JSON")
	return cmd
}

const (
	crashConns      = 4  // enough to count
	maxCrashWorkers = 50 // each may open some connections, of the server's 400
)

// crashWorkerCommand is the process that lab crash starts and kills.
func crashWorkerCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "crash-worker",
		Short:  "Handle payments for lab crash",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return experiment.CrashWorker(cmd.Context(), os.Stdin, os.Stdout)
		},
	}
}

// check reports the first flag whose value makes no experiment.
func (c *crash) check() error {
	switch {
	case c.Keys < 1:
		return fmt.Errorf("--keys is %d; it must be at least 1", c.Keys)
	case c.Kills < 1 || c.Kills > c.Keys:
		return fmt.Errorf("--kills is %d; it must be 1 to %d, the number of keys", c.Kills, c.Keys)
	case c.Workers < 1 || c.Workers > maxCrashWorkers:
		return fmt.Errorf("--workers is %d; it must be 1 to %d", c.Workers, maxCrashWorkers)
	}
	return nil
}

func (c *crash) run(ctx context.Context) (err error) {
	progress := report.Progress{W: os.Stderr, Terminal: term.IsTerminal(int(os.Stderr.Fd()))}
	c.Progress = progress.Start
	self, err := os.Executable()
	if err != nil {
		return err
	}
	c.Worker = func(ctx context.Context) *exec.Cmd { return exec.CommandContext(ctx, self, "crash-worker") }
	fmt.Fprintln(os.Stderr, "Starting a PostgreSQL server and a redis-server for the test alone ...")
	db, err := database.Start(ctx, crashConns, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if c.Redis, err = redis.Start(ctx); err != nil {
		return err
	}
	defer c.Redis.Close()
	fmt.Fprintln(os.Stderr, "Building the payments example ...")
	if c.Programs, err = payments.Build(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Programs.Close()) }()
	result, err := c.Run(ctx, db.Pool)
	if err != nil {
		return err
	}
	if err := c.print(result, db.Version); err != nil {
		return err
	}
	return verdictOf(result)
}

// verdictOf is the error that the command ends with.
func verdictOf(result *experiment.CrashResult) error {
	if problems := result.Problems(); len(problems) > 0 {
		return errors.New("the crashes did not show what they are for:\n  " + strings.Join(problems, "\n  "))
	}
	return nil
}

func (c *crash) print(result *experiment.CrashResult, server string) error {
	if c.json {
		e := json.NewEncoder(os.Stdout)
		e.SetIndent("", "  ")
		return e.Encode(struct {
			PostgreSQL string `json:"postgresql"`
			Redis      string `json:"redis"`
			*experiment.CrashResult
			Problems []string `json:"problems,omitempty"`
		}{server, c.Redis.Version, result, result.Problems()})
	}
	color := term.IsTerminal(int(os.Stdout.Fd())) && os.Getenv("NO_COLOR") == ""
	return report.Crash{CrashResult: result, PostgreSQL: server, Redis: c.Redis.Version, Color: color}.Write(os.Stdout)
}
