package main

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"github.com/pgidem/pgidem/gen"
)

// list is idem list.
type list struct {
	db                      *source
	state, tenant, endpoint string
	older                   time.Duration
	most                    int
	json                    bool
	out, stderr             io.Writer
}

func newList(db *source) *cobra.Command {
	l := list{db: db}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List keys, the unresolved ones first",
		Long: `list lists the abandoned keys, then those that are held or were given back with
steps, and then the finished ones and those given back without steps; in each
part the oldest first. The last part, which --state abandoned and --state held
leave out, needs the whole table read.

--json writes one object a line; what is not known is null or empty:
  {"tenant":"acme","endpoint":"POST /charges","key":"k-1","state":"abandoned",
   "attempts":1,"created_at":"...","claimed_at":"...","locked_until":"...",
   "completed_at":null,"status":null,"handler":"","provider_ref":""}`,
		Example: `  idem list --state abandoned
  idem list --tenant acme --older 1h --json`,
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch l.state {
			case "", "abandoned", "held", "released", "committed", "failed":
			default:
				return wrongUse(cmd, "--state is abandoned, held, released, committed or failed")
			}
			switch {
			case l.most < 1 || l.most > 100_000:
				return wrongUse(cmd, "--limit must be between 1 and 100000")
			case l.older < 0:
				return wrongUse(cmd, "--older must not be negative")
			}
			if err := notEmpty(cmd, "state", "tenant", "endpoint"); err != nil {
				return err
			}
			l.out, l.stderr = cmd.OutOrStdout(), cmd.ErrOrStderr()
			return l.run(cmd.Context())
		},
	}
	f := cmd.Flags()
	f.StringVar(&l.state, "state", "", "only keys in this state: abandoned, held, released, committed or failed")
	f.StringVar(&l.tenant, "tenant", "", "only keys of this tenant")
	f.StringVar(&l.endpoint, "endpoint", "", "only keys of this endpoint")
	f.DurationVar(&l.older, "older", 0, "only keys that began their life this long ago")
	f.IntVar(&l.most, "limit", 100, "keys at most")
	f.BoolVar(&l.json, "json", false, "write one JSON object a line")
	return cmd
}

// listed is what --json writes; its names are stable.
type listed struct {
	Tenant      string     `json:"tenant"`
	Endpoint    string     `json:"endpoint"`
	Key         string     `json:"key"`
	State       string     `json:"state"`
	Attempts    int32      `json:"attempts"`
	CreatedAt   time.Time  `json:"created_at"`
	ClaimedAt   time.Time  `json:"claimed_at"`
	LockedUntil *time.Time `json:"locked_until"`
	CompletedAt *time.Time `json:"completed_at"`
	Status      *int32     `json:"status"`
	Handler     string     `json:"handler"`
	ProviderRef string     `json:"provider_ref"`
}

func (l *list) run(ctx context.Context) error {
	pool, err := l.db.pool(ctx, throughPoolers)
	if err != nil {
		return err
	}
	defer pool.Close()
	keys, err := l.keys(ctx, pool)
	if err != nil {
		return withCure(err)
	}
	more := len(keys) > l.most
	keys = keys[:min(len(keys), l.most)]
	if err := l.print(keys); err != nil {
		return err
	}
	if more {
		fmt.Fprintf(l.stderr, "idem: there are more; --limit %d was reached\n", l.most)
	}
	return nil
}

// keys are those that are asked for, and one more where the limit cuts some off.
func (l *list) keys(ctx context.Context, pool *pgxpool.Pool) ([]listed, error) {
	keys := []listed{}
	q := gen.New()
	if l.state != "committed" && l.state != "failed" {
		rows, err := q.OperatorUnresolved(ctx, pool, gen.OperatorUnresolvedParams{
			State: l.state, TenantID: l.tenant, Endpoint: l.endpoint, Older: l.older, Most: int32(l.most + 1),
		})
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			keys = append(keys, listed{
				Tenant: r.TenantID, Endpoint: r.Endpoint, Key: r.Key, State: r.State, Attempts: r.Attempts,
				CreatedAt: r.CreatedAt.UTC(), ClaimedAt: r.ClaimedAt.UTC(), LockedUntil: inUTC(r.LockedUntil), Handler: r.Handler,
			})
		}
	}
	if left := l.most + 1 - len(keys); left > 0 && l.state != "abandoned" && l.state != "held" {
		rows, err := q.OperatorList(ctx, pool, gen.OperatorListParams{
			TenantID: l.tenant, Endpoint: l.endpoint, Status: l.state, Older: l.older, Most: int32(left),
		})
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			keys = append(keys, listed{
				Tenant: r.TenantID, Endpoint: r.Endpoint, Key: r.Key, State: r.State, Attempts: r.Attempts,
				CreatedAt: r.CreatedAt.UTC(), ClaimedAt: r.ClaimedAt.UTC(), LockedUntil: inUTC(r.LockedUntil), CompletedAt: inUTC(r.CompletedAt),
				Status: r.ResponseStatus, Handler: r.Handler, ProviderRef: r.ProviderRef,
			})
		}
	}
	return keys, nil
}

func (l *list) print(keys []listed) error {
	if l.json {
		for _, k := range keys {
			if err := printJSON(l.out, k); err != nil {
				return err
			}
		}
		return nil
	}
	if len(keys) == 0 {
		_, err := fmt.Fprintln(l.out, "no such key")
		return err
	}
	table := tabwriter.NewWriter(l.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "STATE\tTENANT\tENDPOINT\tKEY\tATTEMPTS\tCREATED\tLOCKED UNTIL\tSTATUS")
	for _, k := range keys {
		status := "-"
		if k.Status != nil {
			status = fmt.Sprint(*k.Status)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%d\t%s\t%s\t%s\n", k.State, safe(k.Tenant), safe(k.Endpoint), safe(k.Key), k.Attempts,
			utc(&k.CreatedAt), utc(k.LockedUntil), status)
	}
	return table.Flush()
}
