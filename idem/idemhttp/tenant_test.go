package idemhttp_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/idem/idemhttp"
)

// signed answers with the tenant's name, and with what it asked.
func signed(w http.ResponseWriter, r *http.Request, charge func()) {
	charge()
	body, _ := io.ReadAll(r.Body)
	w.WriteHeader(http.StatusCreated)
	fmt.Fprintf(w, "%s's %s", r.Header.Get("X-Tenant"), body)
}

// as is a request of a tenant.
func as(tenant, url, key, body string) *http.Request {
	r := newRequest(url, key, body)
	r.Header.Set("X-Tenant", tenant)
	return r
}

// C07: one client key, several tenants. Each runs its own request and gets its own answer: none is told of a mismatch, for that
// would reveal that the key exists, and let one tenant block another.
func TestC07TenantsWithOneKeyNeverMeet(t *testing.T) {
	s := openShop(t)
	for _, mode := range modes {
		for name, scope := range map[string]idem.Scope{"tenant": idem.ScopeTenant, "endpoint": idem.ScopeEndpoint} {
			t.Run(mode.name+", scope "+name, func(t *testing.T) {
				s := s.in(t)
				s.exec("DELETE FROM idem.keys")
				site := s.open(mode.handle(s.bundle, s.m.With(idem.Policy{Scope: scope}), signed))
				before := s.charges()
				inputs := []struct{ tenant, key, body string }{
					{"T1", "1", "A"},
					{"T2", "1", "A"},     // the same request
					{"T3", "1", "other"}, // another one
					{"t1", "1", "A"},     // names are not folded
					{"T1", "one", "B"},
					{"a:b", "c", "A"}, // nor joined
					{"a", "b:c", "A"},
					{"a|b", "c", "A"},
					{"a", "b|c", "A"},
					{"T", "11", "A"},
				}
				firsts := make([]answer, len(inputs))
				for i, in := range inputs {
					firsts[i] = s.send(as(in.tenant, site.charges(), in.key, in.body))
					s.wantFirst(firsts[i], 201)
					if want := in.tenant + "'s " + in.body; firsts[i].body != want {
						t.Fatalf("tenant %s got %q, want %q", in.tenant, firsts[i].body, want)
					}
				}
				for i, in := range inputs {
					s.wantReplay(s.send(as(in.tenant, site.charges(), in.key, in.body)), firsts[i])
					mismatch := s.send(as(in.tenant, site.charges(), in.key, "changed"))
					s.wantProblem(mismatch, 422, "key-reused")
					if strings.Contains(mismatch.body, "'s ") {
						t.Errorf("the problem holds an answer: %s", mismatch.body)
					}
				}
				if n := s.charges() - before; n != len(inputs) {
					t.Errorf("%d charges, want %d", n, len(inputs))
				}
			})
		}
	}
}

// C07: while one tenant's request runs, another's with the same key is not made to wait for it.
func TestC07TenantDoesNotBlockAnother(t *testing.T) {
	s := openShop(t)
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			s := s.in(t)
			begun, finish := s.newGate(), s.newGate()
			site := s.open(mode.handle(s.bundle, s.m.With(idem.Policy{Wait: -1}), func(w http.ResponseWriter, r *http.Request, charge func()) {
				if r.Header.Get("X-Tenant") == "T1" {
					begun.open()
					finish.wait()
				}
				signed(w, r, charge)
			}))
			answered := s.later(as("T1", site.charges(), mode.name, "A"))
			s.await("T1's request runs", begun)
			for _, body := range []string{"A", "other"} {
				s.wantFirst(s.send(as("T2-"+body, site.charges(), mode.name, body)), 201)
			}
			finish.open()
			s.wantFirst(receive(s, "T1's answer", answered), 201)
		})
	}
}

// C07: whoever has no tenant is refused before any work, never given a shared bucket, and told nothing: neither of others nor of
// why the tenant could not be found.
func TestC07RequestOfNobodyIsRefused(t *testing.T) {
	s := openShop(t)
	inside := errors.New("dial tcp 10.0.0.7: secret")
	for _, mode := range modes {
		first := s.send(as("T1", s.open(mode.handle(s.bundle, s.m, signed)).charges(), mode.name, "A"))
		s.wantFirst(first, 201)
		keys, charges := s.count("SELECT count(*) FROM idem.keys"), s.charges()
		for name, test := range map[string]struct {
			tenant func(*http.Request) (string, error)
			status int
			kind   string
		}{
			"no Tenant":                   {nil, 500, "misconfigured"},
			"an error":                    {func(*http.Request) (string, error) { return "", inside }, 500, "misconfigured"},
			"an error and a name":         {func(*http.Request) (string, error) { return "T1", inside }, 500, "misconfigured"},
			"no name":                     {func(*http.Request) (string, error) { return "", nil }, 500, "misconfigured"},
			"unauthenticated":             {func(*http.Request) (string, error) { return "", idemhttp.ErrUnauthenticated }, 401, "unauthenticated"},
			"unauthenticated, and a name": {func(*http.Request) (string, error) { return "T1", idemhttp.ErrUnauthenticated }, 401, "unauthenticated"},
			"unauthenticated, wrapped": {func(*http.Request) (string, error) {
				return "", fmt.Errorf("%w: %w", idemhttp.ErrUnauthenticated, inside)
			}, 401, "unauthenticated"},
		} {
			t.Run(mode.name+"/"+name, func(t *testing.T) {
				s := s.in(t)
				m := *s.m
				m.Tenant = test.tenant
				site := s.open(mode.handle(s.bundle, &m, signed))
				for _, body := range []string{"A", "other"} { // a retry of T1's, and a new request
					refused := s.send(as("T1", site.charges(), mode.name, body))
					s.wantProblem(refused, test.status, test.kind)
					if strings.Contains(refused.body, "secret") || strings.Contains(refused.body, "'s ") || refused.replayed() {
						t.Errorf("the problem says too much: %s", refused.body)
					}
				}
			})
		}
		if got := s.count("SELECT count(*) FROM idem.keys"); got != keys || s.charges() != charges {
			t.Errorf("%s mode: %d keys and %d charges, want %d and %d as before", mode.name, got, s.charges(), keys, charges)
		}
	}
	if !strings.Contains(s.log.String(), inside.Error()) || !strings.Contains(s.log.String(), "Middleware.Tenant is nil") {
		t.Errorf("the log does not say why:\n%s", s.log.String())
	}
}

// C07: what one tenant sends downstream never bears a key of another's.
func TestC07TenantsHaveDownstreamKeysOfTheirOwn(t *testing.T) {
	s := openShop(t)
	s.cards.refuses = true // a shared downstream key would get T1's charge
	site := s.open(s.m.Handler(payment(s.cards.URL)))
	for _, tenant := range []string{"T1", "t1", "T2"} {
		s.wantFirst(s.send(as(tenant, site.charges(), k1, dollars)), 201)
	}
	if n := s.cards.charged(); n != 3 {
		t.Errorf("%d charges under %q, want 3", n, s.cards.seen())
	}
}
