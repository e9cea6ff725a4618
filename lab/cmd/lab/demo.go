package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/pgidem/pgidem/lab/database"
	"github.com/pgidem/pgidem/lab/experiment"
	"github.com/pgidem/pgidem/lab/payments"
	"github.com/pgidem/pgidem/lab/report"
)

// demo is the command line of lab demo.
type demo struct {
	experiment.Demo
	json bool
}

func demoCommand() *cobra.Command {
	var d demo
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Charge customers twice, and then not",
		Long: `Demo sends a storm of payments, each several times from many workers at once, to
the payments example: a shop's API and a card processor, programs of their own.
The API handles them without a key, then checks first and charges afterwards,
then runs the product's two modes. After the storm a night in which the processor
is slower than its clients are patient; then one payment from eight workers
released at the same instant. It counts the charges, prints them, and says what
they mean.

It runs on a PostgreSQL server of its own, which it starts and removes. Progress
goes to standard error, the result to standard output. NO_COLOR is respected.

It exits with 1 when the product charged a payment twice or never, and also when
the other designs charged none twice, for then it has shown nothing.`,
		Example: `  lab demo
  lab demo --payments 100 --workers 20
  lab demo --json | jq '.storm[] | {design, duplicates}'`,
		Args: func(cmd *cobra.Command, args []string) error {
			return errors.Join(cobra.NoArgs(cmd, args), d.check())
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return d.run(cmd.Context()) },
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.IntVar(&d.Payments, "payments", 1000, "payments in the storm")
	f.IntVar(&d.Copies, "copies", 5, "how often each is sent, at least 2")
	f.IntVar(&d.Workers, "workers", 100, fmt.Sprintf("how many send at once, 2 to %d; the API has a connection for every one", database.MaxConns))
	f.DurationVar(&d.Delay, "delay", 20*time.Millisecond, "how long a charge takes")
	f.BoolVar(&d.json, "json", false, "write what was measured as JSON")
	return cmd
}

// check reports the first flag whose value makes no experiment.
func (d *demo) check() error {
	switch {
	case d.Payments < 1:
		return fmt.Errorf("--payments is %d; it must be at least 1", d.Payments)
	case d.Copies < 2:
		return fmt.Errorf("--copies is %d; it must be at least 2, for a payment sent once cannot be charged twice by a retry", d.Copies)
	case d.Workers < 2 || d.Workers > database.MaxConns:
		return fmt.Errorf("--workers is %d; it must be 2 to %d", d.Workers, database.MaxConns)
	case d.Delay < 0:
		return fmt.Errorf("--delay is %s; it must not be negative", d.Delay)
	}
	return nil
}

func (d *demo) run(ctx context.Context) (err error) {
	progress := report.Progress{W: os.Stderr, Terminal: term.IsTerminal(int(os.Stderr.Fd()))}
	d.Progress = progress.Start
	fmt.Fprintln(os.Stderr, "Starting a PostgreSQL server for the demo alone ...")
	db, err := database.Start(ctx, experiment.BarrierWorkers, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	fmt.Fprintln(os.Stderr, "Building the payments example ...")
	if d.Programs, err = payments.Build(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Programs.Close()) }()
	result, err := d.Run(ctx, db.Pool)
	if err != nil {
		return err
	}
	if err := d.print(result, db.Version); err != nil {
		return err
	}
	if problems := result.Problems(); len(problems) > 0 {
		return errors.New("the demo did not show what it is for:\n  " + strings.Join(problems, "\n  "))
	}
	return nil
}

func (d *demo) print(result *experiment.DemoResult, server string) error {
	if d.json {
		e := json.NewEncoder(os.Stdout)
		e.SetIndent("", "  ")
		return e.Encode(struct {
			Server string `json:"postgresql"`
			*experiment.DemoResult
			Problems []string `json:"problems,omitempty"`
		}{server, result, result.Problems()})
	}
	color := term.IsTerminal(int(os.Stdout.Fd())) && os.Getenv("NO_COLOR") == ""
	return report.Demo{DemoResult: result, Server: server, Color: color}.Write(os.Stdout)
}
