package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/pgidem/pgidem/idem"
)

// options are the command line.
type options struct {
	databaseURL      string
	listen           string
	untilEOF         bool
	processorURL     string
	processorTimeout time.Duration
	orderTime        time.Duration
	guard            guard
	tokens           tokens
	policy           idem.Policy
	steps            bool
	noCoalescing     bool
	grace            time.Duration
}

// tokens are tenants by their tokens.
type tokens map[string]string

func (t tokens) String() string { return "" }

// Set reads tenant=token.
func (t tokens) Set(text string) error {
	tenant, token, ok := strings.Cut(text, "=")
	if !ok || tenant == "" || token == "" {
		return errors.New("it is tenant=token")
	}
	t[token] = tenant
	return nil
}

// parse reads the command line. The code is that to exit with, below 0 to go on.
func parse(args []string, stdout, stderr io.Writer) (o options, code int) {
	o.guard, o.tokens = guardIdem, tokens{}
	f := flag.NewFlagSet("api", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.StringVar(&o.databaseURL, "database-url", "", "connection `string` (default $DATABASE_URL, then the PG* variables)")
	f.StringVar(&o.listen, "listen", "127.0.0.1:8080", "`address` to listen on; port 0 is a free one")
	f.BoolVar(&o.untilEOF, "until-eof", false, "end when standard input does, and so with the program that holds its other end")
	f.StringVar(&o.processorURL, "processor", "http://127.0.0.1:8081", "`address` of the card processor")
	f.DurationVar(&o.processorTimeout, "processor-timeout", 30*time.Second, "how long a call to it may take")
	f.DurationVar(&o.orderTime, "order-time", 0, "how long the work of an order takes")
	f.TextVar(&o.guard, "guard", o.guard, "how POST /charges treats retries: idem, or, to be seen failing, check-then-act or none")
	f.Var(o.tokens, "token", "a `tenant=token` that may call; repeatable (default acme=acme-secret and globex=globex-secret)")
	f.DurationVar(&o.policy.Retention, "retention", 72*time.Hour, "how long answers are kept")
	f.DurationVar(&o.policy.Lease, "lease", 90*time.Second, "how long a holder may be silent")
	f.DurationVar(&o.policy.Wait, "wait", 0, "how long a duplicate waits for the first answer (default 1s; below 0: not at all)")
	f.TextVar((*stale)(&o.policy.Stale), "stale", stale(idem.StaleRerun), "what becomes of an abandoned charge: rerun (the processor refuses a repeated key), resolve (it can be asked), refuse (neither: an operator decides)")
	f.DurationVar(&o.policy.Settle, "settle", 0, "with --stale=resolve, how long after the end of a lease the processor is asked (default one lease)")
	f.BoolVar(&o.noCoalescing, "no-coalescing", false, "send each claim, completion and heartbeat by itself, as for tables that are sharded")
	f.BoolVar(&o.steps, "steps", false, "charge by recorded steps")
	f.DurationVar(&o.grace, "grace", 20*time.Second, "how long running requests may take after SIGTERM")
	err := f.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(stdout, "usage: api [flags]\n\nA shop's payments API. Its flags:")
		f.SetOutput(stdout)
		f.PrintDefaults()
		return o, 0
	}
	if err == nil && f.NArg() > 0 {
		err = fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	if err != nil {
		fmt.Fprintf(stderr, "api: %v\nSee api --help.\n", err)
		return o, 2
	}
	if o.databaseURL == "" {
		o.databaseURL = os.Getenv("DATABASE_URL")
	}
	if len(o.tokens) == 0 {
		o.tokens = tokens{"acme-secret": "acme", "globex-secret": "globex"}
	}
	return o, -1
}
