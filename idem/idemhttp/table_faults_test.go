package idemhttp_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/internal/pgproxy"
	"github.com/pgidem/pgidem/internal/testdb"
)

// contended is a tenant whose rows are gone whenever somebody looks.
const contended = "contended"

func (b *bundle) makeContended() {
	b.Helper()
	ctx := context.Background()
	err := b.pool.AcquireFunc(ctx, func(conn *pgxpool.Conn) error {
		_, err := conn.Exec(ctx, "RESET ROLE") // of a run as the least-privileged role
		for _, sql := range []string{
			"CREATE FUNCTION vanish() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
			"CREATE TRIGGER vanishes BEFORE INSERT ON idem.keys FOR EACH ROW WHEN (NEW.tenant_id = '" + contended + "') EXECUTE FUNCTION vanish()",
		} {
			if err == nil {
				_, err = conn.Exec(ctx, sql)
			}
		}
		return errors.Join(err, conn.Conn().Close(ctx)) // the role goes with the connection
	})
	if err != nil {
		b.Fatal(err)
	}
}

// resolving asks where the downstream answers verdict once settle has passed.
func (a *asked) resolving(settle time.Duration, verdict idem.Verdict, err error) {
	a.Helper()
	a.m = a.m.With(idem.Policy{Stale: idem.StaleResolve, Settle: settle, Wait: -1,
		Resolve: func(context.Context, *idem.Record) (idem.Verdict, *idem.Response, error) {
			return verdict, &idem.Response{Status: 201, Body: []byte(foundDownstream)}, err
		}})
	a.changes = true // it is the resolver's for a while
	a.ask(a.request(a.server()))
}

// foundDownstream is the answer that the downstream has for the request.
const foundDownstream = `{"id":"ch_9"}`

// withoutKey is the request of the table without a key.
func (a *asked) withoutKey(server *httptest.Server) *http.Request {
	r := a.request(server)
	r.Header.Del("Idempotency-Key")
	return r
}

// on gives the row's middleware a pool of its own.
func (a *asked) on(url string, mutate ...func(*pgxpool.Config)) *pgxpool.Pool {
	a.Helper()
	pool := testdb.Pool(a.T, url, mutate...)
	a.m.Store = &idem.Store{NoCoalescing: testdb.NoCoalescing(), Pool: pool, Policy: idem.Policy{Wait: -1}}
	a.Cleanup(a.m.Store.Close)
	return pool
}

// commitIs asks where the COMMIT of the answer meets a fate, and the database can then be reached, or not.
func (a *asked) commitIs(fate pgproxy.Fault, reachable bool) {
	a.Helper()
	var armed, down atomic.Bool
	proxy := &pgproxy.Proxy{OnCommit: func() pgproxy.Fault {
		if !armed.CompareAndSwap(true, false) {
			return pgproxy.Pass
		}
		down.Store(!reachable)
		return fate
	}}
	a.on(pgproxy.Start(a.T, proxy, a.pool.Config().ConnString()), func(c *pgxpool.Config) {
		c.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec // in which the proxy can read
		dial := c.ConnConfig.DialFunc
		c.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
			if down.Load() {
				return nil, errors.New("no route")
			}
			return dial(ctx, network, address)
		}
	})
	a.worked = true
	server := a.serve(a.mode.handle(a.bundle, a.m, func(w http.ResponseWriter, r *http.Request, charge func()) {
		a.handler(w, r, charge)
		armed.Store(true)
	}))
	a.ask(a.request(server))
}

// loses asks where a rival takes the key over while the handler runs, and has answered or is at work when it returns.
func (a *asked) loses(answers bool, rival handlerFunc) {
	a.Helper()
	a.worked = true
	elsewhere := *a.m
	elsewhere.Store = &idem.Store{NoCoalescing: testdb.NoCoalescing(), Pool: a.pool, Policy: idem.Policy{Stale: idem.StaleRerun}}
	a.Cleanup(elsewhere.Store.Close)
	began := make(chan struct{})
	takesOver := a.serve(leaseMode.handle(a.bundle, &elsewhere, func(w http.ResponseWriter, r *http.Request, charge func()) {
		close(began)
		rival(w, r, charge)
	}))
	server := a.serve(a.mode.handle(a.bundle, a.m, func(w http.ResponseWriter, r *http.Request, charge func()) {
		a.age(time.Hour)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_, _ = do(http.DefaultClient, a.request(takesOver))
		}()
		<-began
		if answers {
			<-ended
		}
		a.handler(w, r, charge)
	}))
	a.ask(a.request(server))
}
