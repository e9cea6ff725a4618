package idemhttp_test

import (
	"errors"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/idem/idemhttp"
)

// C25: a handler that breaks off is no answer. Its panic goes on up once the key is settled, so net/http cuts the connection and
// logs what it logs without the middleware; nothing of the half answer is stored or sent.
func TestC25HalfAnswerIsNeverStored(t *testing.T) {
	b := setup(t)
	for name, test := range map[string]struct {
		end    func()
		logged string
	}{
		"panics":             {func() { panic(errors.New("smtp is down")) }, "smtp is down"},
		"panics with nil":    {func() { panic(nil) }, "panic called with nil argument"},
		"aborts":             {func() { panic(http.ErrAbortHandler) }, ""},
		"ends its goroutine": {runtime.Goexit, ""},
	} {
		for when, written := range map[string]string{"before any write": "", "after half the body": strings.Repeat("x", 1<<10)} {
			t.Run(name+" "+when, func(t *testing.T) {
				b.in(t).inBothModes(func(b *bundle, mode mode) {
					server, log := b.serveLogged(mode.handle(b, b.m, breaksOff(written, test.end)))
					got := b.look(newRequest(server.URL+"/charges", `"`+b.Name()+`"`, "{}"))
					if !got.Cut || got.Status != 0 || got.Body != "" {
						b.Errorf("the client gets %+v, want a cut connection and nothing else", got)
					}
					b.eventually("net/http has logged", func() bool { return (test.logged == "") == (log.String() == "") })
					if text := log.String(); !strings.Contains(text, test.logged) {
						b.Errorf("net/http's log: %q, want %q", text, test.logged)
					}
					want := map[string]string{"lease": "abandoned", "atomic": "none"}[mode.name]
					if state := b.stateOf(b.m, idem.Key{Tenant: "T1", Endpoint: "POST /charges", ID: b.Name()}); state != want {
						b.Errorf("the key is %s, want %s", state, want)
					}
				})
			})
		}
	}
	if log := b.log.String(); strings.Contains(log, "level=ERROR") {
		t.Errorf("the middleware logs, too:\n%s", log)
	}
}

// C25: what is shorter than it said is cut by net/http for the first caller, and never passed off as whole to a later one.
func TestC25TruncatedBodyIsNotReplayed(t *testing.T) {
	b := setup(t)
	h := writes(201, "four", "Content-Length", "9")
	first, again := b.in(t).asNetHTTP(leaseMode, h)
	if !first.Cut || first.Body != "four" || again.problem() != "response-not-kept" || again.Cut {
		t.Errorf("%+v, then %+v", first, again)
	}
	url := b.quiet(atomicMode.handle(b, b.m, h))
	for range 2 {
		if got := b.look(newRequest(url, "k", "{}")); got.problem() != "failed" {
			t.Errorf("atomic: %+v", got)
		}
	}
	if n := b.charges(); n != 1 {
		t.Errorf("%d charges, want the one of lease mode", n)
	}
}

// What a handler leaves running writes into nobody's answer.
func TestWriteAfterTheHandlerHasReturnedIsRefused(t *testing.T) {
	b := setup(t)
	b.inBothModes(func(b *bundle, mode mode) {
		var late http.ResponseWriter
		url := b.quiet(mode.handle(b, b.m, func(w http.ResponseWriter, r *http.Request, charge func()) {
			late = w
			created(w, r, charge)
		}))
		first := b.look(newRequest(url, `"`+b.Name()+`"`, "{}"))
		b.wantSameAgain(first, b.look(newRequest(url, `"`+b.Name()+`"`, "{}")))
		if n, err := io.WriteString(late, "late"); n != 0 || err == nil {
			b.Errorf("%d bytes written, %v", n, err)
		}
		if err := http.NewResponseController(late).Flush(); err == nil {
			b.Error("flushed")
		}
	})
}

// 101 is followed by what no record holds, so it is not kept whatever Outcome says.
func TestSwitchingProtocolsIsNeverKept(t *testing.T) {
	b := setup(t)
	b.m.Outcome = idemhttp.KeepAll
	b.inBothModes(func(b *bundle, mode mode) {
		b.asNetHTTP(mode, writes(101, "", "Upgrade", "x", "Connection", "Upgrade"))
		want := map[string]string{"lease": "abandoned", "atomic": "none"}[mode.name]
		if state := b.stateOf(b.m, idem.Key{Tenant: "T1", Endpoint: "POST /charges", ID: b.Name()}); state != want {
			b.Errorf("the key is %s, want %s", state, want)
		}
	})
}
