package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/user"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"github.com/pgidem/pgidem/gen"
	"github.com/pgidem/pgidem/idem"
)

// reconcile is idem reconcile.
type reconcile struct {
	db               *source
	asker            asker
	tenant, endpoint string
	settle, lease    time.Duration
	retention        time.Duration
	most             int
	who              string
	json             bool
	out, stderr      io.Writer
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

"body_base64" takes the place of "body" for a body that is not text. Any other
output, an exit code that is not 0 and a time-out count as pending. What it gets:

  {"tenant":"acme","endpoint":"POST /charges","key":"k-1","attempts":1,
   "created_at":"...","claimed_at":"...","handler":"","request_base64":null,
   "downstream_keys":{"charge":"..."},
   "steps":[{"name":"charge","begun_at":"...","finished_at":null,"output_base64":null}]}

downstream_keys has the key of each step, and of each --step. While the command
runs the key is held; the old holder, should it still live, can complete it, and
its answer then stands. --settle is how long after the end of a lease a key is
asked about: longer than a call that was sent before can take to have its effect.

Each verdict that changes a key leaves a row in idem.audit.

Exit codes: 0 every key was decided, 1 some were not, or it failed, 2 wrong use.

--json writes one object a key:
  {"tenant":"acme","endpoint":"POST /charges","key":"k-1","verdict":"found","error":null}`,
		Example: `  idem reconcile --exec ./ask-the-processor --step charge --settle 10m
  idem reconcile --exec 'curl -s --data-binary @- http://localhost:9000/verdict' --json`,
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if r.who == "" {
				if account, err := user.Current(); err == nil {
					r.who = account.Username
				}
			}
			switch {
			case r.asker.command == "":
				return wrongUse(cmd, "--exec is missing")
			case r.asker.timeout <= 0 || r.lease <= 0 || r.retention < r.lease:
				return wrongUse(cmd, "--timeout and --lease must be above 0, and --retention not below --lease")
			case r.settle < 0:
				return wrongUse(cmd, "--settle must not be negative")
			case r.most < 1 || r.most > 100_000:
				return wrongUse(cmd, "--limit must be between 1 and 100000")
			case r.who == "":
				return wrongUse(cmd, "--as is missing, and the account that runs this has no name")
			}
			r.out, r.stderr = cmd.OutOrStdout(), cmd.ErrOrStderr()
			r.asker.stderr = r.stderr
			return r.run(cmd.Context())
		},
	}
	f := cmd.Flags()
	f.StringVar(&r.asker.command, "exec", "", "the command, given to sh -c (required)")
	f.DurationVar(&r.asker.timeout, "timeout", 30*time.Second, "how long the command may take for one key")
	f.StringArrayVar(&r.asker.steps, "step", nil, "a name whose downstream key the command is told; repeatable")
	f.StringVar(&r.tenant, "tenant", "", "only keys of this tenant")
	f.StringVar(&r.endpoint, "endpoint", "", "only keys of this endpoint")
	f.DurationVar(&r.settle, "settle", 90*time.Second, "how long ago the lease must have ended")
	f.DurationVar(&r.lease, "lease", time.Minute, "for how long at a time the key is held while the command runs")
	f.DurationVar(&r.retention, "retention", 24*time.Hour, "how long an answer is kept from now on, at least")
	f.IntVar(&r.most, "limit", 1000, "keys at most")
	f.StringVar(&r.who, "as", "", "who does it, for idem.audit (default: the account that runs this)")
	f.BoolVar(&r.json, "json", false, "write one JSON object a key")
	return cmd
}

// reconciled is what --json writes; its names are stable.
type reconciled struct {
	Tenant   string  `json:"tenant"`
	Endpoint string  `json:"endpoint"`
	Key      string  `json:"key"`
	Verdict  string  `json:"verdict"`
	Error    *string `json:"error"`
}

func (r *reconcile) run(ctx context.Context) error {
	pool, err := r.db.pool(ctx, throughPoolers)
	if err != nil {
		return err
	}
	defer pool.Close()
	store := &idem.Store{Pool: pool}
	defer store.Close()
	keys, err := gen.New().OperatorUnresolved(ctx, pool, gen.OperatorUnresolvedParams{
		State: "abandoned", TenantID: r.tenant, Endpoint: r.endpoint, Most: int32(r.most),
	})
	if err != nil {
		return withoutSchema(err)
	}
	undecided, progress := 0, newProgress(r.stderr)
	for i, k := range keys {
		if ctx.Err() != nil {
			return errors.New("reconcile: interrupted")
		}
		progress.show("%d of %s", i+1, count(len(keys), "key"))
		verdict, err := r.one(ctx, pool, store, k)
		progress.clear()
		if verdict != "found" && verdict != "nothing" && verdict != "moved on" {
			undecided++
		}
		if err := r.print(k, verdict, err); err != nil {
			return err
		}
	}
	if undecided > 0 {
		return fmt.Errorf("%s not decided", count(undecided, "key"))
	}
	return nil
}

// one asks about one key.
func (r *reconcile) one(ctx context.Context, pool *pgxpool.Pool, store *idem.Store, k gen.OperatorUnresolvedRow) (verdict string, err error) {
	asked := idem.Pending
	policy := idem.Policy{
		Stale: idem.StaleResolve, Settle: max(r.settle, time.Nanosecond), Lease: r.lease, Retention: r.retention, Wait: -1,
		Resolve: func(ctx context.Context, record *idem.Record) (v idem.Verdict, resp *idem.Response, err error) {
			asked, resp, err = r.asker.ask(ctx, record)
			return asked, resp, err
		},
	}
	key := idem.Key{Tenant: k.TenantID, Endpoint: k.Endpoint, ID: k.Key, Fingerprint: idem.AnyRequest}
	lease, resp, err := store.With(policy).Claim(ctx, key)
	switch {
	case lease != nil && asked != idem.Nothing: // it was forgotten or given back meanwhile
		return "moved on", lease.Release(ctx)
	case lease != nil:
		if err := lease.Release(ctx); err != nil {
			return "nothing", err
		}
		return "nothing", r.note(ctx, pool, k, "release", "reconcile: nothing happened")
	case err == nil && asked == idem.Found && !resp.Replayed:
		return "found", r.note(ctx, pool, k, "settle", "reconcile: found")
	case err == nil: // somebody finished it meanwhile
		return "moved on", nil
	case errors.Is(err, idem.ErrInFlight), errors.Is(err, idem.ErrContended):
		return "held, or too early", nil
	}
	return "pending", err
}

func (r *reconcile) note(ctx context.Context, pool *pgxpool.Pool, k gen.OperatorUnresolvedRow, what, why string) error {
	return gen.New().OperatorNote(ctx, pool, gen.OperatorNoteParams{
		Who: r.who, What: what, TenantID: k.TenantID, Endpoint: k.Endpoint, Key: k.Key, Reason: why,
	})
}

func (r *reconcile) print(k gen.OperatorUnresolvedRow, verdict string, failure error) error {
	if r.json {
		line := reconciled{Tenant: k.TenantID, Endpoint: k.Endpoint, Key: k.Key, Verdict: verdict}
		if failure != nil {
			line.Error = textOrNull(failure.Error())
		}
		return printJSON(r.out, line)
	}
	text := fmt.Sprintf("%s: %s %s %s", verdict, safe(k.TenantID), safe(k.Endpoint), safe(k.Key))
	if failure != nil {
		text += ": " + safe(failure.Error())
	}
	_, err := fmt.Fprintln(r.out, text)
	return err
}
