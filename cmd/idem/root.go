package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

func newRoot() *cobra.Command {
	var db source
	root := &cobra.Command{
		Use:   "idem COMMAND",
		Short: "Operate the idempotency keys of pgidem",
		Long: `idem operates the idempotency keys of pgidem in one PostgreSQL database.

The database is the one of --database-url, else of DATABASE_URL, else of the
PG* variables (PGHOST, PGDATABASE, PGUSER, PGPASSWORD, PGPASSFILE, ...). Other
users of the machine can read the command line: keep the password in a
variable or in the passfile.

Exit codes: 0 done, 1 failed, 2 wrong use.`,
		Example: `  idem migrate up
  idem check
  idem sweep --every 1h
  idem list --state abandoned`,
		Version:       version(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
		RunE:          wantCommand,

		DisableFlagsInUseLine: true,
	}
	root.SetVersionTemplate("idem {{.Version}}\n")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return wrongUse(cmd, "%v", err) })
	// cobra's line "idem [command]" would repeat Use.
	root.SetUsageTemplate(strings.Replace(root.UsageTemplate(), "\n  {{.CommandPath}} [command]", "", 1))
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetHelpCommand(newHelp(root))
	root.PersistentFlags().Var(&db, "database-url", "connection string (default $DATABASE_URL, then the PG* variables)")
	root.AddCommand(newMigrate(&db), newSweep(&db), newCheck(&db), newShow(&db), newList(&db), newStats(&db),
		newReconcile(&db), newSettle(&db), newRelease(&db), newForget(&db))
	return root
}

// version says which build this is, and the newest schema that it knows.
func version() string {
	build := "(unknown)"
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		build = info.Main.Version
	}
	newest := "unreadable"
	if files, err := embedded(); err == nil {
		newest = fmt.Sprint(files.newest())
	}
	return fmt.Sprintf("%s (schema %s, %s)", build, newest, runtime.Version())
}
