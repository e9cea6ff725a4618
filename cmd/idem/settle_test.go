package main

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pgidem/pgidem/idem"
)

// settle settles k-1 without asking.
func (d *testDatabase) settle(t *testing.T, more ...string) call {
	t.Helper()
	return cli(t, d.url, slices.Concat([]string{"settle", "--tenant", "acme", "--endpoint", "POST /charges", "--reason", "r", "--yes", "k-1"}, more)...)
}

// wantAnswer compares an answer in all that a retry gets of it.
func wantAnswer(t *testing.T, got *idem.Response, want idem.Response) {
	t.Helper()
	if got.Status != want.Status || got.Failed != want.Failed || got.ProviderRef != want.ProviderRef || got.BodyDropped != want.BodyDropped {
		t.Errorf("status, failed, provider ref and dropped are %d, %t, %q, %t, want %d, %t, %q, %t", got.Status, got.Failed,
			got.ProviderRef, got.BodyDropped, want.Status, want.Failed, want.ProviderRef, want.BodyDropped)
	}
	if !maps.EqualFunc(got.Header, want.Header, slices.Equal) {
		t.Errorf("the header is %q, want %q", got.Header, want.Header)
	}
	if !bytes.Equal(got.Body, want.Body) {
		t.Errorf("the body is %q, want %q", got.Body, want.Body)
	}
}

func TestSettledAnswerIsReplayedExactly(t *testing.T) {
	t.Parallel()
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	file := filepath.Join(t.TempDir(), "body")
	if err := os.WriteFile(file, every, 0o600); err != nil {
		t.Fatal(err)
	}
	s := newService(t, migrated(t))
	for name, c := range map[string]struct {
		args []string
		want idem.Response
	}{
		"a charge": {
			[]string{"--status", "201", "--header", "Content-Type: application/json", "--header", "link:<a>", "--header", "Link:  <b> ",
				"--body", `{"id":"ch_123"}` + "\n", "--provider-ref", "ch_123"},
			idem.Response{Status: 201, Body: []byte(`{"id":"ch_123"}` + "\n"), ProviderRef: "ch_123",
				Header: map[string][]string{"Content-Type": {"application/json"}, "Link": {"<a>", "<b>"}}},
		},
		"a refusal":          {[]string{"--status", "402", "--failed", "--body", "declined"}, idem.Response{Status: 402, Failed: true, Body: []byte("declined")}},
		"no body":            {[]string{"--status", "204"}, idem.Response{Status: 204, Body: []byte{}}},
		"an empty body":      {[]string{"--status", "200", "--body", ""}, idem.Response{Status: 200, Body: []byte{}}},
		"a file":             {[]string{"--status", "200", "--body-file", file}, idem.Response{Status: 200, Body: every}},
		"an empty file":      {[]string{"--status", "200", "--body-file", os.DevNull}, idem.Response{Status: 200, Body: []byte{}}},
		"no status":          {[]string{"--status", "0", "--header", "X-Empty:"}, idem.Response{Body: []byte{}, Header: map[string][]string{"X-Empty": {""}}}},
		"a ref that is none": {[]string{"--status", "999", "--provider-ref", "ch\xff"}, idem.Response{Status: 999, Body: []byte{}, ProviderRef: "ch\uFFFD"}},
	} {
		t.Run(name, func(t *testing.T) {
			s.db.exec(t, "DELETE FROM idem.keys")
			s.claim(t, charge)
			s.lapse(t)
			s.db.settle(t, c.args...).want(t, 0, "settled k-1")
			wantAnswer(t, s.replay(t, charge), c.want)
			if leased := s.db.text(t, "SELECT leased FROM idem.keys"); leased != "false" {
				t.Error("a finished key stays among those that need a look")
			}
		})
	}
}

func TestSettleTakesItsBodyFromStandardInput(t *testing.T) {
	t.Parallel()
	s := newService(t, migrated(t))
	s.claim(t, charge)
	s.lapse(t)
	args := slices.Concat(operations["settle"], []string{"--body-file", "-", "k-1", "--yes"})
	p := newProcess([]string{"DATABASE_URL=" + s.db.url}, binary, args...)
	p.cmd.Stdin = strings.NewReader(body)
	p.start(t)
	p.wait(t).want(t, 0)
	wantAnswer(t, s.replay(t, charge), idem.Response{Status: 201, Body: []byte(body)})
}

func TestSettleTakesABodyOfAMebibyteAndNoMore(t *testing.T) {
	t.Parallel()
	s := newService(t, migrated(t))
	s.claim(t, charge)
	s.lapse(t)
	file := filepath.Join(t.TempDir(), "body")
	large := bytes.Repeat([]byte("x"), 1<<20+1)
	before := s.db.rows(t)
	for _, c := range []struct {
		body []byte
		code int
	}{{large, 1}, {large[1:], 0}} {
		if err := os.WriteFile(file, c.body, 0o600); err != nil {
			t.Fatal(err)
		}
		got := s.db.settle(t, "--status", "200", "--body-file", file)
		if c.code == 1 {
			got.want(t, 1, "--body-file holds more than 1 MiB: nothing was changed")
			if s.db.rows(t) != before || s.db.audit(t) != "" {
				t.Error("it changes something")
			}
			continue
		}
		got.want(t, 0)
		wantAnswer(t, s.replay(t, charge), idem.Response{Status: 200, Body: c.body})
	}
}

func TestSettleKeepsTheAnswerForTheRetention(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	db.insert(t, abandoned("k-1", expired))
	db.settle(t, "--status", "201", "--retention", "72h").want(t, 0)
	if got := db.text(t, "SELECT expires_at - completed_at = interval '72 hours' FROM idem.keys"); got != "true" {
		t.Error("it is kept for another time")
	}
	db.exec(t, "DELETE FROM idem.keys")
	db.insert(t, abandoned("k-1", func(r *row) { r.expiresIn = 100 * time.Hour }))
	db.settle(t, "--status", "201").want(t, 0)
	if got := db.text(t, "SELECT expires_at - completed_at > interval '99 hours' FROM idem.keys"); got != "true" {
		t.Error("it is kept for less than it was going to be")
	}
}

func TestHolderOfASettledKeyCanDoNothing(t *testing.T) {
	t.Parallel()
	s := newService(t, migrated(t))
	holder := s.lost(t)
	s.db.settle(t, "--status", "201", "--body", "settled").want(t, 0)
	powerless(t, s, holder)
	wantAnswer(t, s.replay(t, charge), idem.Response{Status: 201, Body: []byte("settled")})
}

func TestSettleRefusesWhatIsNoAnswer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		says string
		args []string
	}{
		{"--status is missing", nil},
		{"invalid argument", []string{"--status", "created"}},
		{"the status must be 100 to 999, or 0", []string{"--status", "99"}},
		{"the status must be 100 to 999, or 0", []string{"--status", "1000"}},
		{"the status must be 100 to 999, or 0", []string{"--status", "-1"}},
		{`--header "Location" is not 'Name: value'`, []string{"--status", "201", "--header", "Location"}},
		{`": /charges/1" is no header field`, []string{"--status", "201", "--header", ":/charges/1"}},
		{`"Two Words: x" is no header field`, []string{"--status", "201", "--header", "Two Words: x"}},
		{`"X: a\r\nY: b" is no header field`, []string{"--status", "201", "--header", "X:a\r\nY: b"}},
		{"Content-Length belongs to one message", []string{"--status", "201", "--header", "content-length: 2"}},
		{"Transfer-Encoding belongs to one message", []string{"--status", "201", "--header", "Transfer-Encoding: chunked"}},
		{"--body and --body-file exclude each other", []string{"--status", "201", "--body", "", "--body-file", "x"}},
		{"--body-file is empty", []string{"--status", "201", "--body-file", ""}},
		{"--retention must be above 0", []string{"--status", "201", "--retention", "0s"}},
		{"--retention must be above 0", []string{"--status", "201", "--retention", "-1h"}},
		{"invalid argument", []string{"--status", "201", "--retention", "long"}},
		{"invalid argument", []string{"--status", "201", "--failed=perhaps"}},
	} {
		db := &testDatabase{url: "postgres://127.0.0.1:1/nowhere"}
		if got := db.settle(t, c.args...).want(t, 2, "idem: ", c.says, "usage: idem settle"); got.out != "" {
			t.Errorf("%q writes %q to stdout", c.args, got.out)
		}
	}
	args := slices.Concat(operations["settle"], []string{"--body-file", "-", "k-1"})
	cli(t, "", args...).want(t, 2, "--yes is missing")
	db := migrated(t)
	db.insert(t, abandoned("k-1"))
	before := db.rows(t)
	for _, file := range []string{filepath.Join(t.TempDir(), "missing"), t.TempDir()} {
		db.settle(t, "--status", "201", "--body-file", file).want(t, 1, "--body-file: ")
	}
	if db.rows(t) != before || db.audit(t) != "" {
		t.Error("something was changed")
	}
}
