package shop

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

	"github.com/pgidem/pgidem/idem"
)

// options are the command line.
type options struct {
	databaseURL string
	listen      string
	untilEOF    bool
}

// Main is the main function of a program whose routes are those given. It serves until SIGINT or SIGTERM, lets running requests
// end, and exits: 0 it was ended; 1 it failed; 2 wrong use.
func Main(name string, routes func(*Shop) http.Handler) {
	o, code := parse(name, os.Args[1:], os.Stdout, os.Stderr)
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
	if err := run(ctx, o, routes); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

// parse reads the command line. The code is that to exit with, below 0 to go on.
func parse(name string, args []string, stdout, stderr io.Writer) (o options, code int) {
	f := flag.NewFlagSet(name, flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.StringVar(&o.databaseURL, "database-url", "", "connection `string` (default $DATABASE_URL, then the PG* variables)")
	f.StringVar(&o.listen, "listen", "127.0.0.1:8080", "`address` to listen on; port 0 is a free one")
	f.BoolVar(&o.untilEOF, "until-eof", false, "end when standard input does, and so with the program that holds its other end")
	err := f.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(stdout, "usage: %s [flags]\n\nA shop behind idempotency keys. Its flags:\n", name)
		f.SetOutput(stdout)
		f.PrintDefaults()
		return o, 0
	}
	if err == nil && f.NArg() > 0 {
		err = fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	if err != nil {
		fmt.Fprintf(stderr, "%s: %v\nSee %s --help.\n", name, err, name)
		return o, 2
	}
	if o.databaseURL == "" {
		o.databaseURL = os.Getenv("DATABASE_URL")
	}
	return o, -1
}

// run serves until ctx ends.
func run(ctx context.Context, o options, routes func(*Shop) http.Handler) error {
	pool, err := pgxpool.New(ctx, o.databaseURL)
	if err != nil {
		return errors.New("the connection string cannot be used: it is postgres://user:password@host:port/database")
	}
	defer pool.Close()
	store := &idem.Store{Pool: pool}
	defer store.Close()
	if err := store.Check(ctx); err != nil {
		return err
	}
	if err := Install(ctx, pool); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", o.listen)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: routes(Open(pool, store)), ReadHeaderTimeout: 10 * time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	fmt.Printf("listening on http://%s\n", listener.Addr())
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	return server.Shutdown(context.WithoutCancel(ctx))
}
