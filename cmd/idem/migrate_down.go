package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"
)

// down is idem migrate down.
type down struct {
	db          *source
	wait        time.Duration
	all, json   bool
	out, stderr io.Writer
}

func newMigrateDown(db *source) *cobra.Command {
	d := down{db: db}
	var yes bool
	cmd := &cobra.Command{
		Use:   "down",
		Short: "Take back the newest migration, or all",
		Long: `down takes back the newest migration, with the data that it brought. --all takes
back every one and leaves no key; it wants --yes as well.

--json writes one object:
  {"from":3,"to":2,"reverted":[{"version":3,"name":"operators"}]}`,
		Example: `  idem migrate down
  idem migrate down --all --yes`,
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case d.all && !yes:
				return wrongUse(cmd, "--all drops every key with its answer: add --yes if that is meant")
			case d.wait < 0:
				return wrongUse(cmd, "--wait must not be negative")
			}
			d.out, d.stderr = cmd.OutOrStdout(), cmd.ErrOrStderr()
			return d.run(cmd.Context())
		},
	}
	cmd.Flags().BoolVar(&d.all, "all", false, "take back every migration")
	cmd.Flags().BoolVar(&yes, "yes", false, "with --all: yes, drop every key")
	cmd.Flags().DurationVar(&d.wait, "wait", defaultWait, "how long to wait for another migration to end")
	cmd.Flags().BoolVar(&d.json, "json", false, "write one JSON object")
	return cmd
}

// downReport is what --json writes; its names are stable.
type downReport struct {
	From     int   `json:"from"`
	To       int   `json:"to"`
	Reverted files `json:"reverted"`
}

func (d *down) run(ctx context.Context) error {
	m, err := openMigrator(ctx, d.db, d.wait, d.stderr)
	if err != nil {
		return err
	}
	defer m.Close()
	done := downReport{From: m.before.recorded, To: m.before.recorded, Reverted: files{}}
	err = d.revert(ctx, m, &done)
	switch {
	case d.json:
		if err := printJSON(d.out, done); err != nil {
			return err
		}
	case err != nil:
	case done.From == 0:
		fmt.Fprintln(d.out, "schema idem is not there, there is nothing to take back")
	case done.To == 0:
		fmt.Fprintln(d.out, "schema idem is gone")
	default:
		fmt.Fprintf(d.out, "schema idem is at version %d\n", done.To)
	}
	return err
}

func (d *down) revert(ctx context.Context, m *migrator, done *downReport) error {
	applied := slices.Clone(m.files.upTo(done.From))
	slices.Reverse(applied)
	if !d.all {
		applied = applied[:min(1, len(applied))]
	}
	for _, last := range applied {
		if ctx.Err() != nil {
			return fmt.Errorf("interrupted at version %d: run idem migrate down again for the rest", done.To)
		}
		began := time.Now()
		if err := m.down(ctx, last); err != nil {
			return err
		}
		done.To, done.Reverted = 0, append(done.Reverted, last)
		if before := m.files.upTo(last.Version - 1); len(before) > 0 {
			done.To = before.newest()
		}
		if !d.json {
			fmt.Fprintf(d.out, "took back %d %s (%v)\n", last.Version, last.Name, time.Since(began).Round(time.Millisecond))
		}
	}
	return nil
}
