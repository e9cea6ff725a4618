package main

import (
	"io"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"github.com/pgidem/pgidem/idem"
)

// reconcile is idem reconcile.
type reconcile struct {
	db               *source
	asker            asker
	steps            []string // names whose downstream keys the command is told
	tenant, endpoint string
	settle, lease    time.Duration
	retention        time.Duration
	most             int
	who              string
	json             bool
	out, stderr      io.Writer

	pool  *pgxpool.Pool
	store *idem.Store
}

func newReconcile(db *source) *cobra.Command {
	r := reconcile{db: db}
	cmd := &cobra.Command{
		Use:   "reconcile --exec COMMAND",
		Short: "Ask the downstream about abandoned keys, by a command of yours",
		Long: `reconcile runs a command of yours for each abandoned key, oldest first, one after
the other. The command gets the key as one JSON object on standard input, asks the
downstream what became of it, and writes its verdict as one JSON object:

  {"verdict":"found","status":201,"header":{"Content-Type":["application/json"]},
   "body":"...","failed":false,"provider_ref":"ch_123"}     the key is finished with this
  {"verdict":"nothing"}                    it has not happened and cannot any more:
                                           the key is given back, the next retry runs
  {"verdict":"pending"}                    not decided: the key is left as it is

"body_base64" takes the place of "body" for a body that is not text; one of more
than 1 MiB is not kept, and a retry is told so. Any other output, an exit code that
is not 0 and a time-out count as pending. The command gets:

  {"tenant":"acme","endpoint":"POST /charges","key":"k-1","attempts":1,
   "created_at":"...","claimed_at":"...","handler":"","request_base64":null,
   "downstream_keys":{"charge":"..."},
   "steps":[{"name":"charge","begun_at":"...","finished_at":null,"output_base64":null}]}

downstream_keys has the key of each step, and of each --step. While the command
runs the key is held; the old holder, should it still live, can complete it, and
its answer then stands. --settle is how long after the end of a lease a key is
asked about: longer than a call that was sent before can take to have its effect.
To be asked counts as an attempt, and as the end of a lease.

Each verdict that changes a key leaves a row in idem.audit.

Exit codes: 0 every key was decided, 1 some were not, or it failed, 2 wrong use.

--json writes one object a key; error says why a verdict is pending, or is null:
  {"tenant":"acme","endpoint":"POST /charges","key":"k-1","verdict":"found","error":null}
The verdict is found, nothing or pending, or, where there was none, too-early
(--settle has not passed), held (somebody has the key) or moved-on (it is no longer
abandoned).`,
		Example: `  idem reconcile --exec ./ask-the-processor --step charge --settle 10m
  idem reconcile --exec 'curl -s --data-binary @- http://localhost:9000/verdict' --json`,
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := r.check(cmd); err != nil {
				return err
			}
			r.out, r.stderr = cmd.OutOrStdout(), cmd.ErrOrStderr()
			r.asker.stderr = r.stderr
			return r.run(cmd.Context())
		},
	}
	f := cmd.Flags()
	f.StringVar(&r.asker.command, "exec", "", "the command, given to sh -c (required)")
	f.DurationVar(&r.asker.timeout, "timeout", 30*time.Second, "how long the command may take for one key")
	f.StringArrayVar(&r.steps, "step", nil, "a name whose downstream key the command is told; repeatable")
	f.StringVar(&r.tenant, "tenant", "", "only keys of this tenant")
	f.StringVar(&r.endpoint, "endpoint", "", "only keys of this endpoint")
	f.DurationVar(&r.settle, "settle", 90*time.Second, "how long ago the lease must have ended")
	f.DurationVar(&r.lease, "lease", time.Minute, "for how long at a time the key is held while the command runs")
	f.DurationVar(&r.retention, "retention", 24*time.Hour, "how long an answer is kept from now on, at least")
	f.IntVar(&r.most, "limit", 1000, "keys at most")
	f.StringVar(&r.who, "as", account(), "who does it, for idem.audit")
	f.BoolVar(&r.json, "json", false, "write one JSON object a key")
	return cmd
}

func (r *reconcile) check(cmd *cobra.Command) error {
	switch {
	case strings.TrimSpace(r.asker.command) == "":
		return wrongUse(cmd, "--exec is missing")
	case r.asker.timeout <= 0:
		return wrongUse(cmd, "--timeout must be above 0")
	case r.lease < time.Second:
		return wrongUse(cmd, "--lease must be at least 1s")
	case r.retention < r.lease:
		return wrongUse(cmd, "--retention must not be below --lease")
	case r.settle < 0:
		return wrongUse(cmd, "--settle must not be negative")
	case r.most < 1 || r.most > 100_000:
		return wrongUse(cmd, "--limit must be between 1 and 100000")
	case strings.TrimSpace(r.who) == "":
		return wrongUse(cmd, "--as is missing: it goes into idem.audit")
	}
	return notEmpty(cmd, "tenant", "endpoint", "step")
}

// notEmpty refuses a flag that is given and empty: an unset shell variable must not lead to all keys.
func notEmpty(cmd *cobra.Command, flags ...string) error {
	for _, name := range flags {
		f := cmd.Flags().Lookup(name)
		if given := f.Value.String(); f.Changed && (given == "" || given == "[]") {
			return wrongUse(cmd, "--%s is empty", name)
		}
	}
	return nil
}
