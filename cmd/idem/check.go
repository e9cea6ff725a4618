package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/pgidem/pgidem/idem"
)

func newCheck(db *source) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Check that the protocol can run here",
		Long: `check says what is wrong with the set-up before the first claim does: schema and
version, rights of the role, a pooler and its query mode, a standby, a server
that forgets commits. Run it with the very connection string of the service. It
prints one finding a line, each with its cure, and exits 1 if there is any.

--json writes one object:
  {"ok":false,"findings":["schema idem does not exist: run idem migrate up"]}`,
		Example: `  idem check
  idem check --database-url 'postgres://app@db/shop?default_query_exec_mode=exec'`,
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runCheck(cmd.Context(), db, asJSON, cmd.OutOrStdout())
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write one JSON object")
	return cmd
}

// checkReport is what --json writes; its names are stable.
type checkReport struct {
	OK       bool     `json:"ok"`
	Findings []string `json:"findings"`
}

func runCheck(ctx context.Context, db *source, asJSON bool, out io.Writer) error {
	pool, err := db.pool(ctx)
	if err != nil {
		return err
	}
	defer pool.Close()
	store := &idem.Store{Pool: pool}
	defer store.Close()
	findings := flatten([]string{}, store.Check(ctx))
	ok := len(findings) == 0
	switch {
	case asJSON:
		err = printJSON(out, checkReport{ok, findings})
	case ok:
		_, err = fmt.Fprintln(out, "ok: the protocol can run in this database")
	default:
		for _, finding := range findings {
			if _, err = fmt.Fprintln(out, finding); err != nil {
				break
			}
		}
	}
	if err == nil && !ok {
		err = fmt.Errorf("check: %s", count(len(findings), "finding"))
	}
	return err
}

// flatten appends the texts of joined errors, one by one.
func flatten(to []string, err error) []string {
	if err == nil {
		return to
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok || err.Error() != errors.Join(joined.Unwrap()...).Error() { // fmt.Errorf wraps several within one text
		return append(to, err.Error())
	}
	for _, one := range joined.Unwrap() {
		to = flatten(to, one)
	}
	return to
}
