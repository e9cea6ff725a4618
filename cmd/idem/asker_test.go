package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pgidem/pgidem/idem"
)

func TestCommandIsToldAllOfTheKey(t *testing.T) {
	t.Parallel()
	s, d := newService(t, migrated(t)), newDownstream(t)
	s.store = s.store.With(idem.Policy{Wait: -1, Handler: "charge"})
	key := charge
	key.Request = "POST \x00\xff"
	lease := s.claim(t, key)
	var sent string // under which the lost step was called
	for _, step := range []string{"reserve", "charge"} {
		_, _ = lease.Step(t.Context(), step, func(_ context.Context, downstreamKey string) ([]byte, error) { // the second fails on purpose
			if sent = downstreamKey; step == "charge" {
				return nil, errors.New("died")
			}
			return []byte("r-1"), nil
		})
	}
	s.lapse(t)
	left, err := s.store.Lookup(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	d.says(t, "k-1", `{"verdict":"pending"}`)
	d.reconcile(t, s.db, "--step", "receipt", "--step", "charge").want(t, 1)
	asked := d.asked(t)
	if len(asked) != 1 {
		t.Fatalf("it is told %v", asked)
	}
	q := asked[0]
	wantNames(t, q, "tenant endpoint key attempts created_at claimed_at handler request_base64 downstream_keys steps")
	for name, want := range map[string]any{
		"tenant": "acme", "endpoint": "POST /charges", "key": "k-1", "attempts": 1., "handler": "charge",
		"request_base64": base64.StdEncoding.EncodeToString([]byte("POST \x00\xff")),
		"created_at":     left.CreatedAt.UTC().Format(time.RFC3339Nano),
		"claimed_at":     left.ClaimedAt.UTC().Format(time.RFC3339Nano), // by the lost holder, not by who asks
	} {
		if q[name] != want {
			t.Errorf("%s is %v, want %v", name, q[name], want)
		}
	}
	keys := q["downstream_keys"].(map[string]any)
	wantNames(t, keys, "reserve charge receipt")
	for step, got := range keys {
		if got != lease.DownstreamKey(step) {
			t.Errorf("the downstream key of %s is %v, want %s", step, got, lease.DownstreamKey(step))
		}
	}
	if keys["charge"] != sent {
		t.Errorf("the charge was sent under %s, and is asked about under %v", sent, keys["charge"])
	}
	var steps []string
	for _, step := range q["steps"].([]any) {
		wantNames(t, step, "name begun_at finished_at output_base64")
		one := step.(map[string]any)
		steps = append(steps, fmt.Sprint(one["name"], " ", one["begun_at"] != nil, " ", one["finished_at"] != nil, " ", one["output_base64"]))
	}
	if want := []string{"reserve true true " + base64.StdEncoding.EncodeToString([]byte("r-1")), "charge true false <nil>"}; !slices.Equal(steps, want) {
		t.Errorf("the steps are %q, want %q", steps, want)
	}
}

func TestCommandIsToldOfAKeyThatHasLittle(t *testing.T) {
	t.Parallel()
	s, d := newService(t, migrated(t)), newDownstream(t)
	s.store = s.store.With(idem.Policy{Wait: -1, Scope: idem.ScopeTenant})
	lease := s.claim(t, charge)
	s.lapse(t)
	d.reconcile(t, s.db, "--step", "charge").want(t, 1)
	q := d.asked(t)[0]
	if q["endpoint"] != "*" || q["request_base64"] != nil || q["handler"] != "" || len(q["steps"].([]any)) != 0 {
		t.Errorf("it is told %v", q)
	}
	if got := q["downstream_keys"].(map[string]any)["charge"]; got != lease.DownstreamKey("charge") {
		t.Errorf("the downstream key of a key of the whole tenant is %v, want %s", got, lease.DownstreamKey("charge"))
	}
}

func TestWhateverIsNoVerdictIsPending(t *testing.T) {
	t.Parallel()
	db, d := migrated(t), newDownstream(t)
	db.insert(t, abandoned("k-1"))
	for reply, says := range map[string]string{
		"":                         "the command's output is no verdict: EOF",
		"found":                    "the command's output is no verdict: invalid character",
		`"found"`:                  "the command's output is no verdict: json: cannot unmarshal string",
		`[]`:                       "the command's output is no verdict: json: cannot unmarshal array",
		`{}`:                       `the command's verdict is "", and not found, nothing or pending`,
		`null`:                     `the command's verdict is "", and not found, nothing or pending`,
		`{"verdict":"FOUND"}`:      `the command's verdict is "FOUND"`,
		`{"verdict":"\u001b[2J"}`:  `the command's verdict is "\x1b[2J"`,
		`{"verdict":"moved-on"}`:   `the command's verdict is "moved-on"`,
		`{"verdict":"nothing"`:     "the command's output is no verdict: unexpected EOF",
		`{"verdict":"nothing"} ok`: "the command's output is more than one verdict",
		`{"verdict":"nothing"}{"verdict":"found","status":200}`:                        "the command's output is more than one verdict",
		`{"verdict":"nothing","charge":"ch_1"}`:                                        `the command's output is no verdict: json: unknown field "charge"`,
		`{"verdict":"nothing","status":404}`:                                           "the command's verdict is nothing, and yet it gave an answer",
		`{"verdict":"pending","body":""}`:                                              "the command's verdict is pending, and yet it gave an answer",
		`{"verdict":"nothing","provider_ref":"ch_1"}`:                                  "the command's verdict is nothing, and yet it gave an answer",
		`{"verdict":"found"}`:                                                          "the command found an answer without a status",
		`{"verdict":"found","status":"201"}`:                                           "the command's output is no verdict: json: cannot unmarshal string",
		`{"verdict":"found","status":20}`:                                              "the command's answer: the status must be 100 to 999",
		`{"verdict":"found","status":1000}`:                                            "the command's answer: the status must be 100 to 999",
		`{"verdict":"found","status":200,"body":"a","body_base64":"YQ=="}`:             "the command gave both body and body_base64",
		`{"verdict":"found","status":200,"body_base64":"?"}`:                           "the command's output is no verdict: illegal base64",
		`{"verdict":"found","status":200,"header":{"X":"a"}}`:                          "the command's output is no verdict: json: cannot unmarshal string",
		`{"verdict":"found","status":200,"header":{"X":["a\r\nSet-Cookie: b"]}}`:       `the command's answer: "X: a\r\nSet-Cookie: b" is no header field`,
		`{"verdict":"found","status":200,"header":{"":["a"]}}`:                         `the command's answer: ": a" is no header field`,
		`{"verdict":"found","status":200,"header":{"connection":["close"]}}`:           "the command's answer: the header field connection belongs to one message",
		`{"verdict":"found","status":200,"body":"` + strings.Repeat("x", 4<<20) + `"}`: "the command: it wrote more than 4 MiB",
	} {
		d.says(t, "k-1", reply)
		line := jsonLines(t, d.reconcile(t, db, "--json").want(t, 1, "1 key not decided").out)[0]
		if why, _ := line["error"].(string); line["verdict"] != "pending" || !strings.HasPrefix(why, says) {
			t.Errorf("%.80s is %s, because of %q", reply, line["verdict"], why)
		}
	}
	if got := db.states(t); got != "k-1 abandoned" || db.audit(t) != "" {
		t.Errorf("the key is %s, and the audit says %q", got, db.audit(t))
	}
}

func TestCommandThatFailsLeavesTheKeyPending(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	db.insert(t, abandoned("k\x1b[2J\u202e1"))
	const nothing = `echo '{"verdict":"nothing"}'`
	for command, c := range map[string]struct{ timeout, says string }{
		nothing + "; exit 3":                    {"1h", "the command: exit status 3"},
		nothing + "; kill -KILL $$":             {"1h", "the command: signal: killed"},
		"/does/not/exist":                       {"1h", "the command: exit status 127"},
		nothing + "; sleep 600":                 {"1s", "the command took longer than 1s"},
		nothing + "; sleep 600 | sleep 600":     {"1s", "the command took longer than 1s"},
		nothing + "; sleep 600 & exit 0":        {"1h", "the command: exec: WaitDelay expired"}, // it cannot be told what the rest will write
		"while :; do echo '{}{}{}{}{}{}'; done": {"1h", "the command: it wrote more than 4 MiB"},
	} {
		got := cli(t, db.url, "reconcile", "--timeout", c.timeout, "--settle", "0s", "--exec", command).want(t, 1,
			"pending: acme POST /charges k\uFFFD[2J\uFFFD1: "+c.says, "1 key not decided")
		if strings.ContainsAny(got.out+got.err, "\x1b\u202e") {
			t.Errorf("it writes %q", got.out+got.err)
		}
	}
	if got := db.text(t, "SELECT status || ' ' || (locked_until <= now()) FROM idem.keys"); got != "in_flight true" || db.audit(t) != "" {
		t.Errorf("the key is %s, and the audit says %q", got, db.audit(t))
	}
}

func TestCommandSpeaksToWhoeverRunsIt(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	db.insert(t, abandoned("k-1"))
	c := cli(t, db.url, "reconcile", "--settle", "0s", "--exec", `echo looking >&2; echo '{"verdict":"nothing"}'`).want(t, 0)
	if c.err != "looking\n" || c.out != "nothing: acme POST /charges k-1\n" {
		t.Errorf("it says %q, and on stderr %q", c.out, c.err)
	}
}

// What outlives its time is killed with all that it started: here a sleep that holds a pipe open.
func TestCommandIsKilledWhole(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*testing.T, *process){
		"by its time-out": func(*testing.T, *process) {},
		"by an interrupt": func(t *testing.T, p *process) { p.signal(t, syscall.SIGINT) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, pipe := migrated(t), filepath.Join(t.TempDir(), "pipe")
			if err := syscall.Mkfifo(pipe, 0o600); err != nil {
				t.Fatal(err)
			}
			db.insert(t, abandoned("k-1"))
			timeout := map[bool]string{true: "5s", false: "1h"}[strings.Contains(name, "time-out")]
			p := start(t, db.url, "reconcile", "--settle", "0s", "--timeout", timeout, "--exec", fmt.Sprintf("(sleep 3600; true) >'%s' & wait", pipe))
			sleeps, ended := make(chan struct{}), make(chan error, 1)
			go func() {
				open, err := os.Open(pipe) // waits for the sleep
				close(sleeps)
				if err == nil {
					_, err = io.ReadAll(open) // waits for its end
					open.Close()
				}
				ended <- err
			}()
			select {
			case <-sleeps:
			case <-p.ended:
				t.Fatalf("it ends before the sleep begins: %s", p.err)
			}
			end(t, p)
			p.wait(t).want(t, 1)
			select {
			case err := <-ended:
				if err != nil {
					t.Error(err)
				}
			case <-time.After(patience):
				t.Error("the sleep goes on")
			}
		})
	}
}
