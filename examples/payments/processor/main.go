// Processor is the pretended card processor of the payments example, the separate system that takes the money: a process of its
// own with tables of its own, in schema processor of the database of --database-url, else of DATABASE_URL, else of the PG*
// variables. It makes the tables where they are missing.
//
// It prints "listening on http://ADDRESS" when it can be called. SIGINT or SIGTERM, and with --until-eof the end of its standard
// input, let what has arrived land and end it; a second signal kills. How it treats its callers is set by flags, and changed by
// PUT /v1/behaviour while it runs.
//
// Exit codes: 0 it was ended; 1 it failed; 2 wrong use.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/internal/processor"
)

// options are the command line.
type options struct {
	databaseURL string
	listen      string
	untilEOF    bool
	behaviour   processor.Behaviour
}

func main() {
	o, code := parse(os.Args[1:], os.Stdout, os.Stderr)
	if code >= 0 {
		os.Exit(code)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal kills
	if o.untilEOF {
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin) // an error ends it, too
			stop()
		}()
	}
	if err := run(ctx, o); err != nil {
		fmt.Fprintf(os.Stderr, "processor: %v\n", err)
		os.Exit(1)
	}
}

// parse reads the command line. The code is that to exit with, below 0 to go on.
func parse(args []string, stdout, stderr io.Writer) (o options, code int) {
	f := flag.NewFlagSet("processor", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.StringVar(&o.databaseURL, "database-url", "", "connection `string` (default $DATABASE_URL, then the PG* variables)")
	f.StringVar(&o.listen, "listen", "127.0.0.1:0", "`address` to listen on; port 0 is a free one")
	f.BoolVar(&o.untilEOF, "until-eof", false, "end when standard input does, and so with the program that holds its other end")
	o.behaviour.Flags(f)
	err := f.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(stdout, "usage: processor [flags]\n\nA pretended card processor. Its flags:")
		f.SetOutput(stdout)
		f.PrintDefaults()
		return o, 0
	}
	if err == nil && f.NArg() > 0 {
		err = fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	if err == nil {
		err = o.behaviour.Check()
	}
	if err != nil {
		fmt.Fprintf(stderr, "processor: %v\nSee processor --help.\n", err)
		return o, 2
	}
	if o.databaseURL == "" {
		o.databaseURL = os.Getenv("DATABASE_URL")
	}
	return o, -1
}

// run serves until ctx ends.
func run(ctx context.Context, o options) error {
	pool, err := pgxpool.New(ctx, o.databaseURL)
	if err != nil {
		return errors.New("the connection string cannot be used: it is postgres://user:password@host:port/database")
	}
	defer pool.Close()
	if err := processor.Install(ctx, pool); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", o.listen)
	if err != nil {
		return err
	}
	p := &processor.Processor{Pool: pool, Behaviour: o.behaviour}
	server := &http.Server{Handler: p, ReadHeaderTimeout: 10 * time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	fmt.Printf("listening on http://%s\n", listener.Addr())
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	b := p.Current()
	b.Hold = false
	if err := p.Become(b); err != nil {
		return err
	}
	return server.Shutdown(context.WithoutCancel(ctx)) // waits for what has not landed
}
