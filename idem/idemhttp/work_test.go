package idemhttp_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/idem/idemhttp"
)

// background is a middleware whose requests a Completer can finish.
func (b *bundle) background() *idemhttp.Middleware {
	return b.m.With(idem.Policy{Stale: idem.StaleRerun, Lease: time.Minute, Wait: -1, Handler: "charge"})
}

// lapse lets an hour go by for a key: its lease, and the rest before its next try.
func (b *bundle) lapse(key string) {
	b.Helper()
	tag, err := b.pool.Exec(b.Context(), "UPDATE idem.keys SET claimed_at = claimed_at - interval '1 hour', locked_until = locked_until - interval '1 hour' WHERE key = $1", key)
	if err != nil || tag.RowsAffected() != 1 {
		b.Fatalf("%v: %v", tag, err)
	}
}

// The process that had the request died; a Completer finishes it with what is stored, and the retry gets the answer.
func TestCompleterRunsTheStoredRequest(t *testing.T) {
	b := setup(t)
	m, crash := b.background(), true
	var got []string
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		lease, _ := idemhttp.LeaseFrom(r.Context())
		charged, err := lease.Step(r.Context(), "charge", func(context.Context, string) ([]byte, error) {
			b.insert(r.Context(), b.pool)
			return []byte("ch_1"), nil
		})
		if err != nil {
			t.Error(err)
		}
		got = append(got, fmt.Sprintf("%s %s %s %q %q %q %q %q", r.Method, r.URL, r.PathValue("id"), body, r.Header.Get("Content-Type"),
			r.Header.Get("Authorization"), r.Header.Get("Cookie"), idemhttp.TenantFrom(r.Context())))
		if crash {
			panic(http.ErrAbortHandler)
		}
		w.Header().Set("Location", "/charges/1")
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write(charged)
	})
	server := b.serve(m.Handler(handler), "POST /orders/{id}/refund")
	request := func() *http.Request {
		r := newRequest(server.URL+"/orders/7/refund?full=1", "k", "{\"a\":\"\x00\xff\"}")
		r.Header.Set("Authorization", "Bearer secret")
		r.Header.Set("Cookie", "session=secret")
		r.Header.Set("X-Tenant", "acme")
		return r
	}
	if _, err := do(http.DefaultClient, request()); err == nil {
		t.Fatal("the handler did not cut the connection")
	}
	b.lapse("k")
	crash = false
	c := &idem.Completer{Store: m.Store, Handlers: map[string]idem.Work{"charge": m.Work(handler)}}
	if stats, err := c.Complete(t.Context()); err != nil || stats.Completed != 1 {
		t.Fatalf("%+v, %v", stats, err)
	}
	if len(got) != 2 || strings.Replace(got[0], `"Bearer secret" "session=secret"`, `"" ""`, 1) != got[1] {
		t.Errorf("the two runs saw other requests:\n%s", strings.Join(got, "\n"))
	}
	a := b.send(request())
	if !a.replayed() || a.status != 201 || a.body != "ch_1" || a.header.Get("Location") != "/charges/1" || b.charges() != 1 {
		t.Errorf("%+v, %d charges", a, b.charges())
	}
	var stored []byte
	if err := b.pool.QueryRow(t.Context(), "SELECT request FROM idem.keys").Scan(&stored); err != nil || len(stored) == 0 || bytes.Contains(stored, []byte("secret")) {
		t.Errorf("%v: a credential is stored:\n%s", err, stored)
	}
}

func TestCompleterLeavesAnAnswerThatIsNotKept(t *testing.T) {
	b := setup(t)
	m, status := b.background(), http.StatusBadGateway
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(status) })
	server := b.serve(m.Handler(handler))
	b.wantFirst(b.post(server, "k", `{}`), http.StatusBadGateway)
	b.lapse("k")
	c := &idem.Completer{Store: m.Store, Handlers: map[string]idem.Work{"charge": m.Work(handler)}}
	if stats, err := c.Complete(t.Context()); err != nil || stats.Pending != 1 || stats.Failed != 1 {
		t.Fatalf("%+v, %v", stats, err)
	}
	b.lapse("k")
	status = http.StatusPaymentRequired
	if stats, err := c.Complete(t.Context()); err != nil || stats.Completed != 1 {
		t.Fatalf("%+v, %v", stats, err)
	}
	if a := b.post(server, "k", `{}`); !a.replayed() || a.status != http.StatusPaymentRequired {
		t.Errorf("%+v", a)
	}
}

func TestRequestsAreNotStoredUnasked(t *testing.T) {
	b := setup(t)
	server := b.serve(leaseMode.handle(b, b.m, created))
	b.wantFirst(b.post(server, "k", `{}`), 201)
	var stored int
	if err := b.pool.QueryRow(t.Context(), "SELECT count(*) FROM idem.keys WHERE request IS NOT NULL").Scan(&stored); err != nil || stored != 0 {
		t.Errorf("%d requests are stored, %v", stored, err)
	}
}

func TestWorkWithoutAStoredRequestIsAnError(t *testing.T) {
	b := setup(t)
	policy := idem.Policy{Stale: idem.StaleRerun, Handler: "charge"}
	store := b.m.Store.With(policy)
	_, _, err := store.Claim(t.Context(), idem.Key{Tenant: "T1", Endpoint: "POST /charges", ID: "k", Fingerprint: idem.AnyRequest})
	if err != nil {
		t.Fatal(err)
	}
	b.lapse("k")
	m := b.m.With(policy)
	c := &idem.Completer{Store: store, Handlers: map[string]idem.Work{"charge": m.Work(http.NotFoundHandler())}}
	if stats, err := c.Complete(t.Context()); err != nil || stats.Failed != 1 {
		t.Errorf("%+v, %v", stats, err)
	}
}

func TestTenantFromIsWhoseRequestItIs(t *testing.T) {
	b := setup(t)
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			b := b.in(t)
			got := ""
			server := b.serve(mode.handle(b, b.m, func(w http.ResponseWriter, r *http.Request, _ func()) { got = idemhttp.TenantFrom(r.Context()) }))
			r := newRequest(server.URL+"/charges", mode.name, `{}`)
			r.Header.Set("X-Tenant", "acme")
			b.send(r)
			if got != "acme" {
				t.Errorf("%q", got)
			}
		})
	}
}
