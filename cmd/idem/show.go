package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/pgidem/pgidem/idem"
)

// show is idem show.
type show struct {
	db         *source
	key        idem.Key
	body, json bool
	out        io.Writer
}

func newShow(db *source) *cobra.Command {
	s := show{db: db}
	cmd := &cobra.Command{
		Use:   "show --tenant TENANT --endpoint ENDPOINT KEY",
		Short: "Show one key",
		Long: `show shows one key as it stands, without touching it. A key that belongs to its
tenant alone (ScopeTenant) has the endpoint '*'.

The state is held (a lease runs), abandoned (its lease is past and its outcome is
unknown), released (given back), committed or failed (finished, and replayed).

--body writes the body of the answer after an empty line, byte for byte; on a
terminal control characters are replaced. --json writes one object; what is not
known is null, and body_base64 is there only with --body:
  {"tenant":"acme","endpoint":"POST /charges","key":"k-1","state":"committed",
   "fence":1767225600000000,"attempts":1,"handler":"","fingerprint":"01ab...",
   "created_at":"...","claimed_at":"...","locked_until":null,"completed_at":"...",
   "expires_at":"...","steps":[{"name":"charge","begun_at":"...","finished_at":"...",
   "output_base64":"..."}],"response":{"status":201,"failed":false,"provider_ref":"ch_1",
   "header":{"Content-Type":["application/json"]},"body_kept":true,"body_bytes":13,
   "body_base64":"..."}}`,
		Example: `  idem show --tenant acme --endpoint 'POST /charges' 8e03978e-40d5-43e8-bc93-6894a57f9324
  idem show --tenant acme --endpoint '*' --json --body k-1`,
		Args: arguments("KEY"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s.key.ID = args[0]
			switch {
			case s.key.Tenant == "":
				return wrongUse(cmd, "--tenant is missing")
			case s.key.Endpoint == "":
				return wrongUse(cmd, "--endpoint is missing")
			}
			s.out = cmd.OutOrStdout()
			err := s.run(cmd.Context())
			if errors.Is(err, idem.ErrInvalidKey) {
				return wrongUse(cmd, "%v", err)
			}
			return err
		},
	}
	cmd.Flags().StringVar(&s.key.Tenant, "tenant", "", "the tenant of the key (required)")
	cmd.Flags().StringVar(&s.key.Endpoint, "endpoint", "", "the endpoint of the key, '*' for a key of the whole tenant (required)")
	cmd.Flags().BoolVar(&s.body, "body", false, "write the body too")
	cmd.Flags().BoolVar(&s.json, "json", false, "write one JSON object")
	return cmd
}

func (s *show) run(ctx context.Context) error {
	pool, err := s.db.pool(ctx, throughPoolers)
	if err != nil {
		return err
	}
	defer pool.Close()
	store := &idem.Store{Pool: pool}
	defer store.Close()
	record, err := store.Lookup(ctx, s.key)
	switch {
	case errors.Is(err, idem.ErrNotFound):
		return noSuchKey(s.key.Tenant, s.key.Endpoint)
	case err != nil:
		return withoutSchema(err)
	case s.json:
		return printJSON(s.out, newShown(record, s.body))
	}
	if err := printRecord(s.out, record); err != nil || !s.body || record.Response == nil {
		return err
	}
	return printBody(s.out, record.Response.Body)
}

func printRecord(out io.Writer, r *idem.Record) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	line := func(name string, value any) { fmt.Fprintf(table, "%s\t%s\n", name, safe(fmt.Sprint(value))) }
	line("tenant", r.Key.Tenant)
	line("endpoint", r.Key.Endpoint)
	line("key", r.Key.ID)
	line("state", r.State)
	line("fence", r.Fence)
	line("attempts", r.Attempts)
	if r.Handler != "" {
		line("handler", r.Handler)
	}
	line("fingerprint", hex.EncodeToString([]byte(r.Key.Fingerprint)))
	line("created", utc(&r.CreatedAt))
	line("claimed", utc(&r.ClaimedAt))
	line("locked until", utc(r.LockedUntil))
	line("completed", utc(r.CompletedAt))
	line("expires", utc(&r.ExpiresAt))
	for _, s := range r.Steps {
		state := "begun " + utc(&s.BegunAt) + ", outcome unknown"
		if s.FinishedAt != nil {
			state = "recorded " + utc(s.FinishedAt) + ", " + count(len(s.Output), "byte")
		}
		line("step", s.Name+": "+state)
	}
	if answer := r.Response; answer != nil {
		line("status", answer.Status)
		if answer.ProviderRef != "" {
			line("provider ref", answer.ProviderRef)
		}
		for _, name := range slices.Sorted(maps.Keys(answer.Header)) {
			for _, value := range answer.Header[name] {
				line("header", name+": "+value)
			}
		}
		if answer.BodyDropped {
			line("body", "not kept")
		} else {
			line("body", count(len(answer.Body), "byte"))
		}
	}
	return table.Flush()
}

// printBody writes what a client has stored: raw, except to a terminal, which it could command.
func printBody(out io.Writer, body []byte) error {
	if file, ok := out.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		lines := strings.Split(string(body), "\n")
		for i := range lines {
			lines[i] = safe(lines[i])
		}
		body = []byte(strings.Join(lines, "\n") + "\n")
	}
	_, err := fmt.Fprintf(out, "\n%s", body)
	return err
}
