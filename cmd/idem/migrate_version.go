package main

import (
	"context"
	"fmt"
	"io"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"
)

func newMigrateVersion(db *source) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Say which version the database has",
		Long: `version says which version is recorded, and which migrations are pending. It
changes nothing. It exits 1 where idem migrate up would refuse to work: a dirty
version, a newer schema, a schema whose version is not recorded.

--json writes one object; a version of 0 means that there is no schema:
  {"version":1,"dirty":false,"newest":2,"pending":[{"version":2,"name":"steps"}]}`,
		Example: `  idem migrate version
  idem migrate version --json`,
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runMigrateVersion(cmd.Context(), db, asJSON, cmd.OutOrStdout())
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write one JSON object")
	return cmd
}

// versionReport is what --json writes; its names are stable.
type versionReport struct {
	Version int   `json:"version"`
	Dirty   bool  `json:"dirty"`
	Newest  int   `json:"newest"`
	Pending files `json:"pending"`
}

func runMigrateVersion(ctx context.Context, db *source, asJSON bool, out io.Writer) error {
	files, err := embedded()
	if err != nil {
		return err
	}
	pool, err := db.pool(ctx, throughPoolers)
	if err != nil {
		return err
	}
	defer pool.Close()
	now, err := look(ctx, pool)
	if err != nil {
		return err
	}
	if err := printVersion(out, files, now, asJSON); err != nil {
		return err
	}
	return now.trouble(files)
}

func look(ctx context.Context, pool *pgxpool.Pool) (now state, err error) {
	err = pool.AcquireFunc(ctx, func(c *pgxpool.Conn) error {
		return pgx.BeginTxFunc(ctx, c, pgx.TxOptions{AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
			now, err = readState(ctx, tx)
			return err
		})
	})
	return now, err
}

func printVersion(out io.Writer, files files, now state, asJSON bool) error {
	report := versionReport{Version: now.recorded, Dirty: now.dirty, Newest: files.newest(), Pending: files.after(now.recorded)}
	if asJSON {
		if report.Pending == nil {
			report.Pending = files[:0]
		}
		return printJSON(out, report)
	}
	text := fmt.Sprint(report.Version)
	switch {
	case report.Dirty:
		text += " (dirty)"
	case report.Version == 0:
		text += " (none)"
	}
	for _, one := range report.Pending {
		text += fmt.Sprintf("\npending: %d %s", one.Version, one.Name)
	}
	_, err := fmt.Fprintln(out, text)
	return err
}
