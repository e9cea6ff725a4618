package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pgidem/pgidem/lab/machine"
	"github.com/pgidem/pgidem/lab/report"
)

// all is the command line of lab all.
type all struct {
	commands  []*command
	only      []string
	skipRedis bool
	bench     bool
	out       string
	docs      string

	stdout, stderr io.Writer
}

func allCommand(commands []*command) *cobra.Command {
	a := &all{commands: commands, stdout: os.Stdout, stderr: os.Stderr}
	cmd := &cobra.Command{
		Use:   "all",
		Short: "Run every experiment and write the report",
		Long: `All runs every experiment at its full size, one after the other, each on servers
of its own, and writes to --out what they measured: the report as one HTML file,
and as JSON a file for each experiment and one for all of them. An experiment that
fails does not stop the others; a run that is interrupted leaves the JSON of those
that had ended. Bench and sweep, which measure a machine that does nothing else, run
with --bench only.

With --docs it also writes what the project's documents show of a run, unless an
experiment failed: lab/report.html, two charts as SVG, and a part of benchmarks.md.

Progress goes to standard error, the summary to standard output. It exits with 1
when an experiment failed, when something that logic decides is not as the
articles or the product say, and when anything was left out that nobody asked to
leave out.`,
		Example: `  lab all
  lab all --only race,storm
  lab all --out /tmp/lab --skip-redis`,
		Args: func(cmd *cobra.Command, args []string) error {
			return errors.Join(cobra.NoArgs(cmd, args), a.check())
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return a.run(cmd.Context()) },
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringSliceVar(&a.only, "only", nil, "run these alone, separated by commas")
	f.BoolVar(&a.bench, "bench", false, "also run bench and sweep, which measure a machine that does nothing else")
	f.BoolVar(&a.skipRedis, "skip-redis", false, "leave out what needs a redis-server")
	f.StringVar(&a.out, "out", "out", "directory for the results")
	f.StringVar(&a.docs, "docs", "", "directory of the project's documents, to be written too")
	return cmd
}

// check reports the first flag that makes no run.
func (a *all) check() error {
	for _, name := range a.only {
		if !slices.ContainsFunc(a.commands, func(c *command) bool { return c.Name == name }) {
			return fmt.Errorf("--only names %q; the experiments are %s", name, report.List(names(a.commands)))
		}
	}
	if a.docs == "" {
		return nil
	}
	if len(a.only) > 0 {
		return errors.New("--docs cannot be had with --only: the documents show a whole run")
	}
	if err := (docs{a.docs}).check(); err != nil {
		return fmt.Errorf("--docs is %s: %w", a.docs, err)
	}
	return nil
}

// chosen are the experiments that are to run.
func (a *all) chosen() []*command {
	return slices.DeleteFunc(slices.Clone(a.commands), func(c *command) bool {
		if len(a.only) > 0 {
			return !slices.Contains(a.only, c.Name)
		}
		return c.Apart && !a.bench
	})
}

func names(commands []*command) []string {
	all := make([]string, len(commands))
	for i, c := range commands {
		all[i] = c.Name
	}
	return all
}

func (a *all) run(ctx context.Context) error {
	out, err := filepath.Abs(a.out)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	r := &results{dir: out, page: report.Page{Machine: machine.This(ctx), Began: time.Now()}}
	chosen := a.chosen()
	for i, c := range chosen {
		since := report.Took(time.Since(r.page.Began))
		fmt.Fprintf(a.stderr, "\n[%d of %d, after %s] %s: %s\n", i+1, len(chosen), since, c.Name, c.Short)
		o := a.one(ctx, c)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		fmt.Fprintf(a.stderr, "[%d of %d] %s: %s in %s\n", i+1, len(chosen), c.Name, o.verdict(), report.Took(o.chapter.Took))
		if err := r.add(o); err != nil {
			return err
		}
	}
	r.page.Took = time.Since(r.page.Began)
	if err := r.write(); err != nil {
		return err
	}
	return a.end(r)
}

// outcome is what became of an experiment.
type outcome struct {
	chapter  report.Chapter
	document document
}

func (o outcome) verdict() string {
	if o.chapter.Err != nil {
		return "error: " + o.chapter.Err.Error()
	}
	return o.chapter.Tally().String()
}

// one runs an experiment.
func (a *all) one(ctx context.Context, c *command) outcome {
	bench := newBench()
	bench.SkipRedis = a.skipRedis
	began := time.Now()
	result, err := c.Run(ctx, bench)
	o := outcome{chapter: report.Chapter{Took: time.Since(began)}, document: document{Experiment: c.Name}}
	if err == nil {
		o.document = c.document(result, bench)
		o.chapter.Section = result.Section()
		err = o.chapter.Check()
	}
	if err != nil {
		o.document.Error = err.Error()
		o.chapter.Section, o.chapter.Err = report.Section{Name: c.Name, Title: c.Short}, err
	}
	o.document.Seconds = o.chapter.Took.Seconds()
	return o
}

// end writes the documents and the summary, and returns the error that the command ends with.
func (a *all) end(r *results) error {
	var problems []string
	if a.docs != "" {
		if len(r.page.Failed()) > 0 {
			problems = append(problems, a.docs+" stays as it was, for not every experiment has a result")
		} else if err := (docs{a.docs}).write(r.page); err != nil {
			problems = append(problems, err.Error())
		}
	}
	fmt.Fprintln(a.stderr)
	if err := (report.Summary{Page: r.page}).Write(a.stdout); err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "\nThe report is %s\n", r.report())
	problems = append(problems, a.problems(r.page)...)
	if len(problems) == 0 {
		return nil
	}
	return errors.New("not everything is as it should be:\n  " + strings.Join(problems, "\n  "))
}

// problems are why the exit code is 1.
func (a *all) problems(p report.Page) []string {
	var all []string
	for _, c := range p.Chapters {
		if c.Err != nil {
			all = append(all, c.Name+": "+c.Err.Error())
		}
		for _, line := range problems(c.Section, a.skipRedis) {
			all = append(all, c.Name+": "+line)
		}
	}
	return all
}
