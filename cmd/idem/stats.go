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

// stats is idem stats.
type stats struct {
	db   *source
	json bool
	out  io.Writer
}

func newStats(db *source) *cobra.Command {
	s := stats{db: db}
	cmd := &cobra.Command{
		Use:   "stats",
		Short: "Count the keys, and say what keeps vacuum from its work",
		Long: `stats counts the keys in each state, says how old the oldest is, what the tables
weigh, how many dead rows vacuum has left, and which transaction is the oldest:
one that stays open keeps dead rows for all. It reads the whole table.
Transactions of other roles are seen only with the rights of pg_read_all_stats.

--json writes one object; what is not known, or holds nothing back, is null:
  {"states":[{"state":"abandoned","keys":1,"expired":0,"oldest_created_at":"..."}],
   "tables":[{"name":"keys","live_rows":10,"dead_rows":2,"bytes":65536,"last_vacuum":null}],
   "oldest_snapshot":{"transactions":12,"what":"session 4711, since ..."}}`,
		Example: `  idem stats
  idem stats --json`,
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s.out = cmd.OutOrStdout()
			return s.run(cmd.Context())
		},
	}
	cmd.Flags().BoolVar(&s.json, "json", false, "write one JSON object")
	return cmd
}

// counted is what --json writes; its names are stable.
type counted struct {
	States   []stateCount `json:"states"`
	Tables   []tableCount `json:"tables"`
	Snapshot *snapshot    `json:"oldest_snapshot"`
}

type stateCount struct {
	State   string    `json:"state"`
	Keys    int64     `json:"keys"`
	Expired int64     `json:"expired"`
	Oldest  time.Time `json:"oldest_created_at"`
}

type tableCount struct {
	Name       string     `json:"name"`
	Live       int64      `json:"live_rows"`
	Dead       int64      `json:"dead_rows"`
	Bytes      int64      `json:"bytes"`
	LastVacuum *time.Time `json:"last_vacuum"`
}

type snapshot struct {
	Transactions int64  `json:"transactions"` // begun since
	What         string `json:"what"`
}

func (s *stats) run(ctx context.Context) error {
	pool, err := s.db.pool(ctx, throughPoolers)
	if err != nil {
		return err
	}
	defer pool.Close()
	all, err := readStats(ctx, pool)
	switch {
	case err != nil:
		return withCure(err)
	case s.json:
		return printJSON(s.out, all)
	}
	return s.print(all)
}

func readStats(ctx context.Context, pool *pgxpool.Pool) (counted, error) {
	q := gen.New()
	all := counted{States: []stateCount{}, Tables: []tableCount{}}
	states, err := q.StatsStates(ctx, pool)
	if err != nil {
		return all, err
	}
	for _, r := range states {
		all.States = append(all.States, stateCount{r.State, r.Keys, r.Expired, r.OldestCreatedAt.UTC()})
	}
	tables, err := q.StatsTables(ctx, pool)
	if err != nil {
		return all, err
	}
	for _, r := range tables {
		all.Tables = append(all.Tables, tableCount{r.Name, r.LiveRows, r.DeadRows, r.Bytes, later(inUTC(r.LastVacuum), inUTC(r.LastAutovacuum))})
	}
	oldest, err := q.StatsSnapshot(ctx, pool)
	if oldest.What != "" {
		all.Snapshot = &snapshot{oldest.Transactions, oldest.What}
	}
	return all, err
}

// later is the later of two times that may not be known.
func later(a, b *time.Time) *time.Time {
	if a == nil || b != nil && b.After(*a) {
		return b
	}
	return a
}

func (s *stats) print(all counted) error {
	table := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "STATE\tKEYS\tEXPIRED\tOLDEST CREATED")
	for _, r := range all.States {
		fmt.Fprintf(table, "%s\t%d\t%d\t%s\n", r.State, r.Keys, r.Expired, utc(&r.Oldest))
	}
	fmt.Fprintln(table, "\nTABLE\tLIVE ROWS\tDEAD ROWS\tBYTES\tLAST VACUUM")
	for _, r := range all.Tables {
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%s\n", safe(r.Name), r.Live, r.Dead, r.Bytes, utc(r.LastVacuum))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if all.Snapshot == nil {
		_, err := fmt.Fprintln(s.out, "\nno transaction holds vacuum back")
		return err
	}
	_, err := fmt.Fprintf(s.out, "\noldest transaction: %s, %s ago\n", safe(all.Snapshot.What), count(all.Snapshot.Transactions, "transaction"))
	return err
}
