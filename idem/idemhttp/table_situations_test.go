package idemhttp_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/idem/idemhttp"
	"github.com/pgidem/pgidem/internal/pgproxy"
)

// requests are the rows of the table of requests, by the cell that stands first.
var requests = map[string]func(a *asked){
	"safe method (GET, HEAD, OPTIONS, TRACE)": func(a *asked) {
		server := a.server()
		for _, method := range []string{"GET", "HEAD", "OPTIONS", "TRACE"} {
			r := a.request(server)
			r.Method = method
			a.ask(r)
		}
	},
	"`Tenant` is nil, or fails, or names nobody": func(a *asked) {
		for _, tenant := range []func(*http.Request) (string, error){
			nil,
			func(*http.Request) (string, error) { return "", errors.New("the directory is down") },
			func(*http.Request) (string, error) { return "", nil },
		} {
			a.m.Tenant = tenant
			a.ask(a.request(a.server()))
		}
	},
	"`Tenant` returns `ErrUnauthenticated`": func(a *asked) {
		a.m.Tenant = func(*http.Request) (string, error) { return "", idemhttp.ErrUnauthenticated }
		a.ask(a.request(a.server()))
	},
	"no route pattern and no `Endpoint`": func(a *asked) {
		server := httptest.NewServer(a.mode.handle(a.bundle, a.m, a.handler))
		defer server.Close()
		a.ask(a.request(server))
	},
	"no key": func(a *asked) { a.ask(a.withoutKey(a.server())) },
	"no key, and the route is `Optional`": func(a *asked) {
		a.m.Optional = true
		a.ask(a.withoutKey(a.server()))
		a.m.Key = func(*http.Request, []byte) (string, error) { return "", nil } // which has the body read
		a.ask(a.request(a.server()))
	},
	"malformed key": func(a *asked) {
		server := a.server()
		for _, key := range []string{"a,b", "", `"a`} {
			r := a.request(server)
			r.Header["Idempotency-Key"] = []string{key}
			a.ask(r)
		}
	},
	"body that cannot be read": func(a *asked) {
		server := a.server()
		a.watch("POST", func() answer {
			return a.raw(server, "POST /charges HTTP/1.1\r\nHost: x\r\nX-Tenant: T1\r\nIdempotency-Key: \""+a.key.ID+
				"\"\r\nTransfer-Encoding: chunked\r\n\r\nno chunk\r\n")
		})
	},
	"body over `MaxBody`": func(a *asked) {
		a.m.MaxBody = 3
		a.ask(a.request(a.server()))
	},
	"body that something outside has read": func(a *asked) {
		h := a.mode.handle(a.bundle, a.m, a.handler)
		a.ask(a.request(a.serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.ReadAll(r.Body)
			h.ServeHTTP(w, r)
		}))))
	},
	"new key": func(a *asked) { a.ask(a.request(a.server())) },
	"same again, after the first has finished": func(a *asked) {
		server := a.finished()
		a.ask(a.request(server))
		a.ask(a.requestTo(server, "/charges", ` {"amount" : 49} `)) // and the same request in another spelling
	},
	"same again, while the first runs": func(a *asked) { a.ask(a.request(a.running())) },
	"other request, after the first has finished": func(a *asked) {
		server := a.finished()
		a.ask(a.requestTo(server, "/charges", `{"amount":9000}`))
		a.ask(a.requestTo(server, "/charges?dry", `{"amount":49}`))
	},
	"other request, while the first runs": func(a *asked) { a.ask(a.requestTo(a.running(), "/charges", `{"amount":9000}`)) },
	"other request, the key abandoned": func(a *asked) {
		a.left(500, "abandoned")
		a.ask(a.requestTo(a.server(), "/charges", `{"amount":9000}`))
	},
	"same key, another tenant": func(a *asked) {
		server := a.finished()
		a.key.Tenant = "T2"
		a.ask(a.requestTo(server, "/charges", `{"amount":9000}`))
	},
	"same key, another endpoint": func(a *asked) {
		server := a.server("/refunds")
		a.wantFirst(a.send(a.requestTo(server, "/refunds", `{"amount":49}`)), 201)
		a.ask(a.request(server))
	},
	"same key, another endpoint, `ScopeTenant`": func(a *asked) {
		a.m = a.m.With(idem.Policy{Scope: idem.ScopeTenant})
		server := a.server("/refunds")
		a.wantFirst(a.send(a.requestTo(server, "/refunds", `{"amount":49}`)), 201)
		a.ask(a.request(server))
	},
	"key abandoned, `StaleRefuse`": func(a *asked) {
		a.left(500, "abandoned")
		a.ask(a.request(a.server()))
	},
	"key abandoned, `StaleRerun`": func(a *asked) {
		a.left(500, "abandoned")
		a.m = a.m.With(idem.Policy{Stale: idem.StaleRerun})
		a.ask(a.request(a.server()))
	},
	"key abandoned, `StaleResolve`, before `Settle` has passed": func(a *asked) {
		a.left(500, "abandoned")
		a.resolving(8*time.Second, idem.Pending, nil)
	},
	"key abandoned, `StaleResolve`: the downstream has found it": func(a *asked) {
		a.left(500, "abandoned")
		a.resolving(time.Nanosecond, idem.Found, nil)
	},
	"key abandoned, `StaleResolve`: there is nothing": func(a *asked) {
		a.left(500, "abandoned")
		a.resolving(time.Nanosecond, idem.Nothing, nil)
	},
	"key abandoned, `StaleResolve`: it is pending, or does not answer": func(a *asked) {
		a.left(500, "abandoned")
		a.resolving(time.Nanosecond, idem.Pending, nil)
		a.resolving(time.Nanosecond, idem.Found, errors.New("no route"))
	},
	"key given back": func(a *asked) {
		a.left(429, "released")
		a.ask(a.request(a.server()))
	},
	"key past its `Retention`": func(a *asked) {
		server := a.finished()
		a.age(25 * time.Hour)
		a.ask(a.request(server))
	},
	"the answer was not kept": func(a *asked) {
		a.m = a.m.With(idem.Policy{MaxBody: 3})
		a.ask(a.request(a.finished()))
	},
	"key stored under an older version of the fingerprint": func(a *asked) {
		a.m.Fingerprint = idemhttp.Revisions{idemhttp.RequestFingerprint}.Fingerprint
		a.finished()
		a.m.Fingerprint = idemhttp.Revisions{idemhttp.RequestFingerprint, idemhttp.Omit("sent_at")}.Fingerprint
		a.ask(a.request(a.server()))
	},
	"key stored under a version that this program does not know": func(a *asked) {
		server := a.finished()
		a.exec("UPDATE idem.keys SET fingerprint = set_byte(fingerprint, 0, 15) WHERE tenant_id = $1 AND key = $2", a.key.Tenant, a.key.ID)
		a.ask(a.request(server))
	},
	"the row changes at each of three looks": func(a *asked) {
		a.key.Tenant = contended
		a.ask(a.request(a.server()))
	},
	"the database is unreachable": func(a *asked) {
		a.on(a.pool.Config().ConnString(), func(c *pgxpool.Config) {
			c.ConnConfig.DialFunc = func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("no route") }
		})
		a.ask(a.request(a.server()))
	},
	"the database is read-only": func(a *asked) {
		a.on(a.pool.Config().ConnString(), func(c *pgxpool.Config) {
			c.ConnConfig.RuntimeParams["default_transaction_read_only"] = "on"
		})
		a.ask(a.request(a.server()))
	},
	"the pool is exhausted": func(a *asked) {
		a.Parallel() // it takes as long as a claim has for a connection
		pool := a.on(a.pool.Config().ConnString(), func(c *pgxpool.Config) { c.MaxConns = 1 })
		conn, err := pool.Acquire(a.Context())
		if err != nil {
			a.Fatal(err)
		}
		defer conn.Release()
		a.ask(a.request(a.server()))
	},
	"COMMIT is lost, and what became of it cannot be read": func(a *asked) { a.commitIs(pgproxy.CutBefore, false) },
	"COMMIT is confirmed to nobody, and cannot be read":    func(a *asked) { a.commitIs(pgproxy.DropAnswer, false) },
	"COMMIT is confirmed to nobody, and is read back":      func(a *asked) { a.commitIs(pgproxy.DropAnswer, true) },
	"the lease is lost to a rival that has answered": func(a *asked) {
		a.loses(true, writes(201, `{"id":"ch_2"}`))
		if got := a.got[0].body; got != `{"id":"ch_2"}` {
			a.Errorf("got %s, want the rival's answer", got)
		}
	},
	"the lease is lost to a rival that runs": func(a *asked) {
		end := make(chan struct{})
		a.loses(false, func(http.ResponseWriter, *http.Request, func()) { <-end })
		a.Cleanup(func() { close(end) })
	},
}
