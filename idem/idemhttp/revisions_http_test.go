package idemhttp_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/idem/idemhttp"
)

// secondVersion is a rule whose version 2 takes 5.00 for 5, and that knows what its version 1 computed: RequestFingerprint.
func secondVersion(r *http.Request, body []byte, version byte) (idem.Fingerprint, error) {
	switch version {
	case 0, 2:
		f, err := idemhttp.RequestFingerprint(r, []byte(strings.ReplaceAll(string(body), ".00", "")), 1)
		return "\x02" + idem.FingerprintOf([]byte("version 2"), []byte(f))[1:], err
	case 1:
		return idemhttp.RequestFingerprint(r, body, 1)
	}
	return "", fmt.Errorf("version %d is unknown", version)
}

// upgrade is a service before and after a change of the rule that says which request a key was used for: two binaries, one
// database.
type upgrade struct {
	*bundle
	older, newer *httptest.Server
	entered      chan struct{} // a handler that was told to wait has begun
	left         chan struct{} // closed: those handlers end
	leave        func()        // closes left
}

// upgraded calls test for each way to change the rule, in both modes and scopes.
func upgraded(t *testing.T, test func(u *upgrade, mode mode)) {
	b := setup(t)
	for name, rule := range map[string]idemhttp.Fingerprinter{
		"a rule at version 2":    secondVersion,
		"revisions grown by one": idemhttp.Revisions{idemhttp.RequestFingerprint, idemhttp.Omit("sent_at")}.Fingerprint,
		"revisions grown by two": idemhttp.Revisions{idemhttp.RequestFingerprint, nil, secondVersion}.Fingerprint,
	} {
		for _, mode := range modes {
			for scope, scoped := range []string{idem.ScopeEndpoint: "per endpoint", idem.ScopeTenant: "per tenant"} {
				t.Run(fmt.Sprintf("%s, %s, %s", name, mode.name, scoped), func(t *testing.T) {
					u := &upgrade{bundle: b.in(t), entered: make(chan struct{}), left: make(chan struct{})}
					u.leave = sync.OnceFunc(func() { close(u.left) })
					older := b.m.With(idem.Policy{Scope: idem.Scope(scope), Wait: -1})
					newer := *older
					newer.Fingerprint = rule
					u.older, u.newer = u.serve(mode.handle(u.bundle, older, u.handle)), u.serve(mode.handle(u.bundle, &newer, u.handle))
					t.Cleanup(u.leave) // before the servers close
					test(u, mode)
				})
			}
		}
	}
}

// handle is the service's handler; the header X-Do makes it wait, or fail for the moment.
func (u *upgrade) handle(w http.ResponseWriter, r *http.Request, charge func()) {
	switch r.Header.Get("X-Do") {
	case "wait":
		u.entered <- struct{}{}
		<-u.left
	case "fail":
		w.WriteHeader(http.StatusTooManyRequests)
		return
	}
	created(w, r, charge)
}

// on sends a document to one of the two binaries, under a key of this test's own; to does something to the request.
func (u *upgrade) on(server *httptest.Server, key, body string, to ...func(*http.Request)) answer {
	u.Helper()
	r := jsonSample(body).over(server, u.ownKey(), key)
	for _, f := range to {
		f(r)
	}
	return u.send(r)
}

func doing(what string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set("X-Do", what) }
}

// A new version never turns a running retry into 422, and another request stays one.
func TestKeyStoredUnderAnOlderVersionReplays(t *testing.T) {
	upgraded(t, func(u *upgrade, _ mode) {
		before := u.charges()
		first := u.on(u.older, "k", `{"amount":5}`)
		u.wantFirst(first, 201)
		for range 2 {
			u.wantReplay(u.on(u.newer, "k", `{"amount":5}`), first)
			u.wantReplay(u.on(u.newer, "k", ` {"amount" :5} `), first)
			u.wantReplay(u.on(u.older, "k", `{"amount":5}`), first)
			for _, other := range []string{`{"amount":5.00}`, `{"amount":6}`, `{"amount":5,"sent_at":1}`, `{"amount":5} x`, ``} {
				u.wantProblem(u.on(u.newer, "k", other), 422, "key-reused") // by the rule that it was stored under
			}
		}
		if got := u.charges() - before; got != 1 {
			u.Errorf("%d charges, want 1", got)
		}
	})
}

// The older binary cannot say whether it is the same request, so it must not run it, nor call it another.
func TestKeyStoredUnderANewerVersionIsUnavailable(t *testing.T) {
	upgraded(t, func(u *upgrade, _ mode) {
		before := u.charges()
		first := u.on(u.newer, "k", `{"amount":5}`)
		u.wantFirst(first, 201)
		u.wantReplay(u.on(u.newer, "k", `{"amount":5}`), first)
		for _, body := range []string{`{"amount":5}`, `{"amount":6}`} {
			a := u.on(u.older, "k", body)
			u.wantProblem(a, 503, "unavailable")
			if a.header.Get("Retry-After") == "" {
				u.Error("no Retry-After, though the next binary may know")
			}
		}
		u.wantReplay(u.on(u.newer, "k", `{"amount":5}`), first)
		u.wantProblem(u.on(u.newer, "k", `{"amount":6}`), 422, "key-reused")
		if got := u.charges() - before; got != 1 {
			u.Errorf("%d charges, want 1", got)
		}
	})
}

func TestKeyStoredUnderAnUnknownVersionIsUnavailable(t *testing.T) {
	upgraded(t, func(u *upgrade, _ mode) {
		u.wantFirst(u.on(u.older, "k", `{"amount":5}`), 201)
		before := u.charges()
		for _, version := range []int{3, 0x10, 0x12, 0x20, 0x31, 0xff} {
			if _, err := u.pool.Exec(u.Context(), "UPDATE idem.keys SET fingerprint = set_byte(fingerprint, 0, $2) WHERE tenant_id = $1", u.ownKey(), version); err != nil {
				u.Fatal(err)
			}
			for _, server := range []*httptest.Server{u.older, u.newer} {
				u.wantProblem(u.on(server, "k", `{"amount":5}`), 503, "unavailable")
			}
		}
		if got := u.charges() - before; got != 0 {
			u.Errorf("%d charges, want none", got)
		}
	})
}

// What is under way when the new binary starts is in flight to it, and not another request.
func TestKeyHeldUnderAnOlderVersionIsInFlight(t *testing.T) {
	upgraded(t, func(u *upgrade, mode mode) {
		var first answer
		done := make(chan struct{})
		go func() {
			defer close(done)
			first, _ = do(http.DefaultClient, waiting(jsonSample(`{"amount":5}`).over(u.older, u.ownKey(), "k")))
		}()
		<-u.entered
		u.wantProblem(u.on(u.newer, "k", `{"amount":5}`), 409, "in-flight")
		if mode.name == leaseMode.name { // atomic mode has no row to compare with yet
			u.wantProblem(u.on(u.newer, "k", `{"amount":6}`), 422, "key-reused")
		}
		u.leave()
		<-done
		u.wantFirst(first, 201)
		u.wantReplay(u.on(u.newer, "k", `{"amount":5}`), first)
		u.wantProblem(u.on(u.newer, "k", `{"amount":6}`), 422, "key-reused")
	})
}

func waiting(r *http.Request) *http.Request {
	doing("wait")(r)
	return r
}

// A key that was given back is free to the new binary.
func TestKeyGivenBackUnderAnOlderVersionIsClaimed(t *testing.T) {
	upgraded(t, func(u *upgrade, _ mode) {
		u.wantFirst(u.on(u.older, "k", `{"amount":5}`, doing("fail")), 429)
		first := u.on(u.newer, "k", `{"amount":5}`)
		u.wantFirst(first, 201)
		u.wantReplay(u.on(u.newer, "k", `{"amount":5}`), first)
		u.wantProblem(u.on(u.newer, "k", `{"amount":6}`), 422, "key-reused")
	})
}

// The change has its effect on new keys.
func TestNewKeysAreComparedByTheNewRule(t *testing.T) {
	upgraded(t, func(u *upgrade, _ mode) {
		first := u.on(u.newer, "k", `{"amount":5}`)
		u.wantFirst(first, 201)
		alike := `{"amount":5.00}`
		if strings.Contains(u.Name(), "grown_by_one") {
			alike = `{"amount":5,"sent_at":"10:00"}`
		}
		u.wantReplay(u.on(u.newer, "k", alike), first)
	})
}
