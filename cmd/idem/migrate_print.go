package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

func newMigratePrint() *cobra.Command {
	var from int
	cmd := &cobra.Command{
		Use:   "print",
		Short: "Write the SQL of the migrations, for review or for psql",
		Long: `print writes the SQL that idem migrate up runs, for a DBA to review or to apply.
It connects to no database: it writes every migration of this build, or with
--from those that a database at that version lacks (idem migrate version says
which it has). The version is recorded as idem migrate up records it, so that
the two can follow each other. Apply it with
  psql --single-transaction --set=ON_ERROR_STOP=1`,
		Example: `  idem migrate print
  idem migrate print --from 2 > upgrade.sql`,
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			files, err := embedded()
			if err != nil {
				return err
			}
			if from < 0 || from > files.newest() {
				return wrongUse(cmd, "--from must be between 0 and %d, the newest version of this build", files.newest())
			}
			_, err = io.WriteString(cmd.OutOrStdout(), script(files.after(from)))
			return err
		},
	}
	cmd.Flags().IntVar(&from, "from", 0, "the version that the database has; 0: none")
	return cmd
}

// script is the SQL of migrations with the record that golang-migrate makes of them.
func script(pending files) string {
	if len(pending) == 0 {
		return "-- Nothing is pending.\n"
	}
	var b strings.Builder
	b.WriteString(createTable(versionTable))
	for _, one := range pending {
		fmt.Fprintf(&b, "\n-- %s\n%s\n%s", one.path(), strings.TrimSpace(one.up)+"\n", recordVersion(versionTable, one.Version))
	}
	return b.String()
}
