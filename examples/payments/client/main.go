// Client sends one payment to the payments API of the example, and sends it again under the same key until there is an answer.
//
//	client --url http://127.0.0.1:8080 charge 4900
//	client --url http://127.0.0.1:8080 --key 0199… charge 4900    # the same payment again, for instance after a crash
//	client --url http://127.0.0.1:8080 order 4900
//	client --url http://127.0.0.1:8080 refund ch_1 4900
//
// The key is printed before anything is sent, so that whoever runs this can keep it; the answer is printed as it came.
//
// Exit codes: 0 done (2xx); 1 anything else; 2 wrong use.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/pgidem/pgidem/idem/idemhttp"
)

// options are the command line.
type options struct {
	url, token, key string
	tryTimeout      time.Duration
	path, body      string
}

func main() {
	o, code := parse(os.Args[1:], os.Stdout, os.Stderr)
	if code >= 0 {
		os.Exit(code)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	status, err := pay(ctx, o, os.Stdout, os.Stderr)
	if err != nil {
		fmt.Fprintf(os.Stderr, "client: %v\n", err)
	}
	if err != nil || status/100 != 2 {
		os.Exit(1)
	}
}

// parse reads the command line. The code is that to exit with, below 0 to go on.
func parse(args []string, stdout, stderr io.Writer) (o options, code int) {
	f := flag.NewFlagSet("client", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.StringVar(&o.url, "url", "http://127.0.0.1:8080", "`address` of the API")
	f.StringVar(&o.token, "token", "acme-secret", "whose payment it is")
	f.StringVar(&o.key, "key", "", "the payment's idempotency key (default: a new one)")
	f.DurationVar(&o.tryTimeout, "try-timeout", 10*time.Second, "how long to wait for an answer before the payment is sent again")
	err := f.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(stdout, "usage: client [flags] charge CENTS | order CENTS | refund CHARGE CENTS\n\nFlags:")
		f.SetOutput(stdout)
		f.PrintDefaults()
		return o, 0
	}
	if err == nil {
		o.path, o.body, err = request(f.Args())
	}
	if err != nil {
		fmt.Fprintf(stderr, "client: %v\nSee client --help.\n", err)
		return o, 2
	}
	if o.key == "" {
		o.key = idemhttp.NewKey()
	}
	return o, -1
}

// request is what the words of the command line ask for.
func request(words []string) (path, body string, err error) {
	command := strings.Join(words[:min(1, len(words))], "")
	want := map[string]int{"charge": 2, "order": 2, "refund": 3}[command]
	if want == 0 || len(words) != want {
		return "", "", errors.New("say charge CENTS, order CENTS or refund CHARGE CENTS")
	}
	cents, err := strconv.ParseInt(words[want-1], 10, 64)
	if err != nil || cents <= 0 {
		return "", "", fmt.Errorf("%q is no amount in cents above 0", words[want-1])
	}
	switch command {
	case "charge":
		return "/charges", fmt.Sprintf(`{"card":"4242424242424242","amount_cents":%d}`, cents), nil
	case "order":
		return "/orders", fmt.Sprintf(`{"course":"Idempotency in practice","amount_cents":%d}`, cents), nil
	}
	return "/refunds", fmt.Sprintf(`{"charge":%q,"amount_cents":%d}`, words[1], cents), nil
}

// pay sends the payment until there is an answer.
func pay(ctx context.Context, o options, stdout, stderr io.Writer) (status int, err error) {
	fmt.Fprintf(stderr, "key %s\n", o.key)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, o.url+o.path, strings.NewReader(o.body))
	if err != nil {
		return 0, err
	}
	r.Header.Set("Authorization", "Bearer "+o.token)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set(idemhttp.HeaderKey, o.key)
	client := &http.Client{Transport: &idemhttp.Transport{TryTimeout: o.tryTimeout}}
	resp, err := client.Do(r)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err
	}
	note := ""
	if resp.Header.Get(idemhttp.HeaderReplayed) == "true" {
		note = " (an earlier try was answered with this)"
	}
	fmt.Fprintf(stderr, "%s%s\n", resp.Status, note)
	_, err = stdout.Write(body)
	return resp.StatusCode, err
}
