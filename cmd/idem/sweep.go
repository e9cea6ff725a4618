package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"github.com/pgidem/pgidem/idem"
)

// sweep is idem sweep.
type sweep struct {
	db          *source
	sweeper     idem.Sweeper
	json        bool
	out, stderr io.Writer
}

func newSweep(db *source) *cobra.Command {
	s := sweep{db: db}
	cmd := &cobra.Command{
		Use:   "sweep",
		Short: "Delete finished keys past their retention",
		Long: `sweep deletes finished keys past their retention, in batches that never block a
claim. It makes one pass, for cron, or with --every one pass after another until
SIGINT or SIGTERM. The loop must reach the database to start; later a pass that
fails is reported, and the next is tried in its time. Abandoned keys are counted,
never deleted: their outcome is unknown.

--json writes one object a pass; error is there only if the pass failed, and the
counts then say how far it came:
  {"deleted":2,"due":3,"skipped":1,"unresolved":0,"batches":1,"took_ns":5000000,"dry_run":false}
due are the keys found past their retention, skipped those of them that were
locked, unresolved the abandoned ones.`,
		Example: `  idem sweep
  idem sweep --every 1h --pause 50ms
  idem sweep --dry-run --json`,
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			loop := cmd.Flags().Changed("every")
			switch {
			case s.sweeper.Batch < 1 || s.sweeper.Batch > 100_000:
				return wrongUse(cmd, "--batch must be between 1 and 100000")
			case s.sweeper.Pause < 0:
				return wrongUse(cmd, "--pause must not be negative")
			case loop && s.sweeper.Every <= 0:
				return wrongUse(cmd, "--every must be above 0")
			}
			s.out, s.stderr = cmd.OutOrStdout(), cmd.ErrOrStderr()
			return s.run(cmd.Context(), loop)
		},
	}
	flags := cmd.Flags()
	flags.DurationVar(&s.sweeper.Every, "every", 0, "go on, with this much time between two passes")
	flags.IntVar(&s.sweeper.Batch, "batch", 2000, "keys a batch at most")
	flags.DurationVar(&s.sweeper.Pause, "pause", 0, "rest between two batches")
	flags.BoolVar(&s.sweeper.PerTenant, "per-tenant", false, "tenant by tenant, for a table sharded or partitioned by tenant")
	flags.BoolVar(&s.sweeper.DryRun, "dry-run", false, "count, delete nothing")
	flags.BoolVar(&s.json, "json", false, "write one JSON object a pass")
	return cmd
}

// pass is what --json writes; its names are stable.
type pass struct {
	idem.SweepStats
	DryRun bool   `json:"dry_run"`
	Error  string `json:"error,omitempty"`
}

func (s *sweep) run(ctx context.Context, loop bool) error {
	pool, err := s.db.pool(ctx, throughPoolers)
	if err != nil {
		return err
	}
	defer pool.Close()
	if !loop {
		return s.once(ctx, pool)
	}
	for {
		if err := s.once(ctx, pool); err != nil && ctx.Err() == nil {
			report(s.stderr, err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(s.sweeper.Every):
		}
	}
}

// once makes one pass and reports it, also where it failed half-way.
func (s *sweep) once(ctx context.Context, pool *pgxpool.Pool) error {
	progress := newProgress(s.stderr)
	s.sweeper.Pool = pool
	s.sweeper.Progress = func(stats idem.SweepStats) { progress.show("%s", counts(stats)) }
	stats, err := s.sweeper.Sweep(ctx)
	progress.clear()
	switch {
	case ctx.Err() != nil && err != nil:
		err = fmt.Errorf("sweep: interrupted")
	case err != nil:
		err = withoutSchema(err)
	}
	if printErr := s.print(stats, err); err == nil {
		err = printErr
	}
	return err
}

func (s *sweep) print(stats idem.SweepStats, failure error) error {
	if s.json {
		p := pass{SweepStats: stats, DryRun: s.sweeper.DryRun}
		if failure != nil {
			p.Error = failure.Error()
		}
		return printJSON(s.out, p)
	}
	if failure != nil && stats.Batches == 0 {
		return nil // the error says it all
	}
	text := counts(stats)
	if s.sweeper.DryRun {
		text = "would delete " + count(stats.Due, "key")
	}
	if failure == nil {
		text += ", " + attention(stats.Unresolved)
	}
	_, err := fmt.Fprintln(s.out, text)
	return err
}

func counts(stats idem.SweepStats) string {
	text := "deleted " + count(stats.Deleted, "key")
	if stats.Took > 0 {
		text += fmt.Sprintf(" in %v", stats.Took.Round(time.Millisecond))
	}
	return text + fmt.Sprintf(", skipped %d (locked)", stats.Skipped)
}

func attention(abandoned int64) string {
	if abandoned == 1 {
		return "1 abandoned key needs attention"
	}
	return fmt.Sprintf("%d abandoned keys need attention", abandoned)
}
