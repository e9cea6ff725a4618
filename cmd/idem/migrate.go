package main

import "github.com/spf13/cobra"

func newMigrate(db *source) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "migrate COMMAND",
		Short: "Bring schema idem to the version of this build, or back",
		Long: `migrate applies the numbered files of this build with golang-migrate, and
records the version in table idem_migrations of the current schema (the first
schema of search_path that exists). The stock migrate CLI does the same with
  -path sql/schema -database 'pgx5://...?x-migrations-table=idem_migrations'
and the two are interchangeable. Each file is one transaction.

It connects directly, never through a pooler, because it holds a session lock.
It never forces a version: where the recorded version and the schema disagree
it changes nothing and says what to look at and how to record the truth.`,
		Example: `  idem migrate up
  idem migrate version
  idem migrate print --from 2 | less`,
		Args: cobra.ArbitraryArgs,
		RunE: wantCommand,

		DisableFlagsInUseLine: true,
	}
	cmd.AddCommand(newMigrateUp(db), newMigrateDown(db), newMigrateVersion(db), newMigratePrint())
	return cmd
}
