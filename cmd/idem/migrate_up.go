package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
)

// up is idem migrate up.
type up struct {
	db          *source
	wait        time.Duration
	json        bool
	out, stderr io.Writer
}

func newMigrateUp(db *source) *cobra.Command {
	u := up{db: db}
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Apply the migrations that the database lacks",
		Long: `up applies the migrations that the database lacks, one transaction each, and
says each one. While another migration runs it waits, at most --wait. An
interrupt lets the migration that runs finish, and applies no further one.

--json writes one object:
  {"from":0,"to":2,"applied":[{"version":1,"name":"keys"},{"version":2,"name":"steps"}]}`,
		Example: `  idem migrate up
  idem migrate up --json`,
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if u.wait < 0 {
				return wrongUse(cmd, "--wait must not be negative")
			}
			u.out, u.stderr = cmd.OutOrStdout(), cmd.ErrOrStderr()
			return u.run(cmd.Context())
		},
	}
	cmd.Flags().DurationVar(&u.wait, "wait", defaultWait, "how long to wait for another migration to end")
	cmd.Flags().BoolVar(&u.json, "json", false, "write one JSON object")
	return cmd
}

// upReport is what --json writes; its names are stable.
type upReport struct {
	From    int   `json:"from"`
	To      int   `json:"to"`
	Applied files `json:"applied"`
}

func (u *up) run(ctx context.Context) error {
	m, err := openMigrator(ctx, u.db, u.wait, u.stderr)
	if err != nil {
		return err
	}
	defer m.Close()
	done := upReport{From: m.before.recorded, To: m.before.recorded, Applied: files{}}
	err = u.apply(ctx, m, &done)
	if u.json {
		if err := printJSON(u.out, done); err != nil {
			return err
		}
	} else if err == nil {
		nothing := ""
		if len(done.Applied) == 0 {
			nothing = ", there is nothing to apply"
		}
		fmt.Fprintf(u.out, "schema idem is at version %d%s\n", done.To, nothing)
	}
	return err
}

func (u *up) apply(ctx context.Context, m *migrator, done *upReport) error {
	for _, next := range m.files.after(done.From) {
		if ctx.Err() != nil {
			return fmt.Errorf("interrupted at version %d: run idem migrate up again for the rest", done.To)
		}
		began := time.Now()
		if err := m.up(ctx, next); err != nil {
			return err
		}
		done.To, done.Applied = next.Version, append(done.Applied, next)
		if !u.json {
			fmt.Fprintf(u.out, "applied %d %s (%v)\n", next.Version, next.Name, time.Since(began).Round(time.Millisecond))
		}
	}
	return nil
}
