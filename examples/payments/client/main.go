// Client sends one payment to the payments API of the example, and sends it again under the same key until there is an answer.
//
//	client --url http://127.0.0.1:8080 charge 4900
//	client --url http://127.0.0.1:8080 --key 0199… charge 4900    # the same payment again, for instance after a crash
//	client --url http://127.0.0.1:8080 order 4900
//	client --url http://127.0.0.1:8080 refund ch_1 4900
//
// The key is printed on standard error before anything is sent, so that whoever runs this can keep it; the answer is printed on
// standard output as it came.
//
// Exit codes: 0 done (2xx); 1 anything else; 2 wrong use.
package main

import (
	"context"
	"encoding/json"
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
	url, token, card, key string
	tryTimeout            time.Duration
	path, body            string
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
	f.StringVar(&o.card, "card", "4242424242424242", "what a charge is taken from; 4000000000000002 is declined")
	f.Func("key", "the payment's idempotency `key` (default: a new one)", o.setKey)
	f.DurationVar(&o.tryTimeout, "try-timeout", 10*time.Second, "how long to wait for an answer before the payment is sent again")
	err := f.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(stdout, "usage: client [flags] charge CENTS | order CENTS | refund CHARGE CENTS\n\nFlags:")
		f.SetOutput(stdout)
		f.PrintDefaults()
		return o, 0
	}
	if err == nil && o.tryTimeout < 0 {
		err = errors.New("--try-timeout must not be negative")
	}
	if err == nil {
		err = o.ask(f.Args())
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

// setKey refuses an empty key: a script whose variable is empty must not pay a second time under a new one.
func (o *options) setKey(key string) error {
	if key == "" {
		return errors.New("it is empty")
	}
	o.key = key
	return nil
}

// ask takes the request from the words of the command line.
func (o *options) ask(words []string) error {
	command := strings.Join(words[:min(1, len(words))], "")
	want := map[string]int{"charge": 2, "order": 2, "refund": 3}[command]
	if want == 0 || len(words) != want {
		return errors.New("say charge CENTS, order CENTS or refund CHARGE CENTS, after the flags")
	}
	cents, err := strconv.ParseInt(words[want-1], 10, 64)
	if err != nil || cents <= 0 {
		return fmt.Errorf("%q is no amount in cents above 0", words[want-1])
	}
	body := map[string]any{"amount_cents": cents}
	switch command {
	case "charge":
		body["card"] = o.card
	case "order":
		body["course"] = "Idempotency in practice"
	case "refund":
		body["charge"] = words[1]
	}
	text, err := json.Marshal(body)
	o.path, o.body = "/"+command+"s", string(text)
	return err
}

// pay sends the payment until there is an answer.
func pay(ctx context.Context, o options, stdout, stderr io.Writer) (status int, err error) {
	fmt.Fprintf(stderr, "key %s\n", o.key)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(o.url, "/")+o.path, strings.NewReader(o.body))
	if err != nil {
		return 0, err
	}
	r.Header.Set("Authorization", "Bearer "+o.token)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set(idemhttp.HeaderKey, o.key)
	// The API keeps answers for 72 h after the last try.
	client := &http.Client{Transport: &idemhttp.Transport{TryTimeout: o.tryTimeout, MaxAge: 71 * time.Hour}}
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
