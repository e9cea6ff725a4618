package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/pgidem/pgidem/lab/report"
	"github.com/pgidem/pgidem/lab/workbench"
)

// command is a subcommand that runs an experiment by itself.
type command struct {
	workbench.Experiment
	Name    string // also of its JSON file and its chapter
	Short   string
	Long    string // what it does and shows; what all experiments have in common is added
	Example string
	Flags   func(*pflag.FlagSet) // adds a flag for each size of the experiment; nil: it has none
	Redis   bool                 // part of it needs a redis-server
	Apart   bool                 // it measures a machine at rest: lab all runs it with --bench alone
}

// common is what all experiments have in common.
const common = `

It runs on servers of its own, which it starts and removes. Progress goes to
standard error, the result to standard output. NO_COLOR is respected.

It exits with 1 when something that logic decides is not as the articles or the
product say: the last lines name it.`

func (c *command) cobra() *cobra.Command {
	bench := newBench()
	asJSON := false
	cmd := &cobra.Command{
		Use:     c.Name,
		Short:   c.Short,
		Long:    c.Long + common,
		Example: c.Example,
		Args: func(cmd *cobra.Command, args []string) error {
			return errors.Join(cobra.NoArgs(cmd, args), c.Check())
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			result, err := c.Run(cmd.Context(), bench)
			if err != nil {
				return err
			}
			if err := c.print(os.Stdout, result, bench, asJSON); err != nil {
				return err
			}
			return c.verdict(result.Section(), bench)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	if c.Flags != nil {
		c.Flags(f)
	}
	if c.Redis {
		f.BoolVar(&bench.SkipRedis, "skip-redis", false, "leave out what needs a redis-server")
	}
	f.BoolVar(&asJSON, "json", false, "write what was measured as JSON")
	return cmd
}

// newBench is a Bench that tells the user on standard error what it does.
func newBench() *workbench.Bench {
	progress := report.Progress{W: os.Stderr, Terminal: term.IsTerminal(int(os.Stderr.Fd()))}
	return &workbench.Bench{
		Say:   func(line string) { fmt.Fprintln(os.Stderr, line) },
		Steps: progress.Start,
		Self: func(ctx context.Context, args ...string) *exec.Cmd {
			self, err := os.Executable()
			if err != nil {
				self = os.Args[0]
			}
			return exec.CommandContext(ctx, self, args...)
		},
	}
}

// document is an experiment's JSON.
type document struct {
	Experiment string           `json:"experiment"`
	Seconds    float64          `json:"seconds,omitempty"`
	Error      string           `json:"error,omitempty"`      // why there is no result
	PostgreSQL string           `json:"postgresql,omitempty"` // version
	Redis      string           `json:"redis,omitempty"`      // version
	Result     workbench.Result `json:"result,omitempty"`
	Findings   []report.Finding `json:"findings,omitempty"`
	Skipped    []string         `json:"skipped,omitempty"`
}

func (c *command) document(result workbench.Result, bench *workbench.Bench) document {
	d := document{Experiment: c.Name, Result: result}
	d.PostgreSQL, d.Redis = bench.Versions()
	section := result.Section()
	d.Findings, d.Skipped = section.Findings, section.Skipped
	return d
}

func (c *command) print(w io.Writer, result workbench.Result, bench *workbench.Bench, asJSON bool) error {
	if asJSON {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(c.document(result, bench))
	}
	color := term.IsTerminal(int(os.Stdout.Fd())) && os.Getenv("NO_COLOR") == ""
	if err := (report.Text{Section: result.Section(), Color: color}).Write(w); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\nMeasured on %s.\n", versions(bench))
	return err
}

// versions names the servers that an experiment ran on.
func versions(bench *workbench.Bench) string {
	postgres, redis := bench.Versions()
	if redis == "" {
		return "PostgreSQL " + postgres
	}
	return "PostgreSQL " + postgres + " and Redis " + redis
}

// verdict is the error that the command ends with.
func (c *command) verdict(s report.Section, bench *workbench.Bench) error {
	lines := problems(s, bench.SkipRedis)
	if len(lines) == 0 {
		return nil
	}
	return fmt.Errorf("%s did not show what it is for:\n  %s", c.Name, strings.Join(lines, "\n  "))
}

// problems are what must hold and does not, and what nobody asked to leave out.
func problems(s report.Section, skipRedis bool) []string {
	var lines []string
	if !skipRedis {
		lines = append(lines, s.Skipped...)
	}
	for _, f := range s.Failed() {
		lines = append(lines, f.String())
	}
	return lines
}
