package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/pgidem/pgidem/gen"
)

// operation is what settle, release and forget have in common: one key, and who does what to it and why.
type operation struct {
	db          *source
	tenant      string
	endpoint    string
	key         string
	who, reason string
	yes         bool
	in          io.Reader
	out, stderr io.Writer
}

// flags are those of every operation.
func (o *operation) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.tenant, "tenant", "", "the tenant of the key (required)")
	f.StringVar(&o.endpoint, "endpoint", "", "the endpoint of the key, '*' for a key of the whole tenant (required)")
	f.StringVar(&o.reason, "reason", "", "why, for idem.audit (required)")
	f.StringVar(&o.who, "as", account(), "who does it, for idem.audit")
	f.BoolVar(&o.yes, "yes", false, "do not ask")
}

// account is the name of the account that runs this; empty where it has none.
func account() string {
	a, err := user.Current()
	if err != nil {
		return ""
	}
	return a.Username
}

// check says what is missing.
func (o *operation) check(cmd *cobra.Command, args []string) error {
	o.key = args[0]
	o.in, o.out, o.stderr = cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr()
	switch {
	case o.tenant == "":
		return wrongUse(cmd, "--tenant is missing")
	case o.endpoint == "":
		return wrongUse(cmd, "--endpoint is missing")
	case o.key == "" || len(o.key) > 255:
		return wrongUse(cmd, "KEY has %d bytes; it must have 1 to 255", len(o.key))
	case strings.TrimSpace(o.reason) == "":
		return wrongUse(cmd, "--reason is missing: it goes into idem.audit")
	case strings.TrimSpace(o.who) == "":
		return wrongUse(cmd, "--as is missing: it goes into idem.audit")
	case !utf8.ValidString(o.tenant + o.endpoint + o.key + o.reason + o.who):
		return wrongUse(cmd, "what was given is not UTF-8 text")
	case !o.yes && !(isTerminal(o.in) && isTerminal(o.stderr)):
		return wrongUse(cmd, "--yes is missing: there is no terminal to ask at")
	}
	return nil
}

// act does what to the key as it is seen now, once whoever runs this has agreed. It returns 0 where the key has moved on.
type act func(ctx context.Context, db gen.DBTX, seen gen.KeyLookupRow) (int64, error)

// run looks at the key, asks, and acts on it as it was seen.
func (o *operation) run(ctx context.Context, what, done string, may func(seen gen.KeyLookupRow) error, do act) error {
	pool, err := o.db.pool(ctx, throughPoolers)
	if err != nil {
		return err
	}
	defer pool.Close()
	seen, err := o.look(ctx, pool)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return noSuchKey(o.tenant, o.endpoint)
	case err != nil:
		return withCure(err)
	}
	if err := may(seen); err != nil {
		return err
	}
	if err := o.ask(ctx, what, seen); err != nil {
		return err
	}
	changed, err := do(ctx, pool, seen)
	switch {
	case err != nil && ctx.Err() != nil: // the server may go on with it
		return fmt.Errorf("%w while it was being done: look whether it was", errInterrupted)
	case err != nil:
		return withCure(err)
	case changed == 0:
		return fmt.Errorf("the key has moved on since it was seen (%s, fence %d): nothing was changed; look again", seen.State, seen.Fence)
	}
	_, err = fmt.Fprintf(o.out, "%s %s\n", done, safe(o.key))
	return err
}

// look reads the key as it stands.
func (o *operation) look(ctx context.Context, db gen.DBTX) (gen.KeyLookupRow, error) {
	return gen.New().KeyLookup(ctx, db, gen.KeyLookupParams{TenantID: o.tenant, Endpoint: o.endpoint, Key: o.key})
}

func noSuchKey(tenant, endpoint string) error {
	return fmt.Errorf("tenant %q has no such key at endpoint %q; a key of the whole tenant is at --endpoint '*'", tenant, endpoint)
}

// ask asks at the terminal, unless --yes says not to.
func (o *operation) ask(ctx context.Context, what string, seen gen.KeyLookupRow) error {
	if o.yes {
		return nil
	}
	fmt.Fprintf(o.stderr, "%s %s of tenant %s at %s, which is %s, claimed %s, fence %d? [y/N] ",
		what, safe(o.key), safe(o.tenant), safe(o.endpoint), seen.State, utc(&seen.ClaimedAt), seen.Fence)
	answered := make(chan string, 1)
	go func() {
		line, err := bufio.NewReader(o.in).ReadString('\n')
		if err != nil {
			line = "no\n" // not even a line was answered
			fmt.Fprintln(o.stderr)
		}
		answered <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case answer := <-answered:
		if answer == "y" || answer == "yes" {
			return nil
		}
	case <-ctx.Done():
		fmt.Fprintln(o.stderr)
	}
	return errors.New("nothing was changed")
}

// notHeld refuses a key whose lease runs: its holder is at work.
func notHeld(seen gen.KeyLookupRow) error {
	if seen.State == "held" {
		return fmt.Errorf("the key is held until %s: nothing was changed; its holder may be at work", utc(seen.LockedUntil))
	}
	return nil
}

func isTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// withCure says what to do about an error that is the set-up's.
func withCure(err error) error {
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == "42501" { // insufficient privilege
		return fmt.Errorf("%s: this is work for a member of idem_operator (sql/roles.sql)", pg.Message)
	}
	return withoutSchema(err)
}
