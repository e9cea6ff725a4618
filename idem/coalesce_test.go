package idem_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/idem"
)

// boarding is callers that claim keys, and what they got.
type boarding struct {
	b      *bundle
	mu     sync.Mutex
	leases map[string]*idem.Lease
	errs   map[string]error
}

func (b *bundle) boarding() *boarding {
	return &boarding{b: b, leases: map[string]*idem.Lease{}, errs: map[string]error{}}
}

// caller claims key, and notes the lease or the error under name.
func (c *boarding) caller(store *idem.Store, key idem.Key, name string) func() {
	return c.callerWith(c.b.ctx, store, key, name)
}

func (c *boarding) callerWith(ctx context.Context, store *idem.Store, key idem.Key, name string) func() {
	return func() {
		lease, resp, err := store.Claim(as(ctx, name), key)
		if lease == nil && err == nil {
			err = fmt.Errorf("a replay: %+v", resp)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.leases[name], c.errs[name] = lease, err
	}
}

// decoys are two callers with keys of their own.
func (c *boarding) decoys(store *idem.Store, n int) (of []func()) {
	for i := range 2 {
		id := fmt.Sprintf("decoy %d %d", n, i)
		of = append(of, c.caller(store, c.b.key(id), id))
	}
	return of
}

// P1 and P7 for callers who share a statement: each has its own key, under its own claim and fence, as the row says.
func TestCallersAtOnceShareStatements(t *testing.T) {
	const callers = 32
	a := new(airport)
	b := setup(t, a.trace)
	store := b.coalescing(idem.Policy{Retention: time.Hour})
	took := b.boarding()
	var all []func()
	for i := range callers {
		id := fmt.Sprint("k", i)
		all = append(all, took.caller(store, b.key(id), id))
	}
	_, before := a.since(0)
	flights := a.gathers(t, claiming, nil, all...)
	if len(flights) > callers/2 {
		t.Errorf("%d claims at once took %d statements", callers, len(flights))
	}
	for id, err := range took.errs {
		if err != nil {
			t.Errorf("%s: %v", id, err)
			continue
		}
		lease, record := took.leases[id], b.record(b.key(id))
		if lease.Key() != b.key(id) || lease.Fence() != record.Fence || lease.Attempt() != 1 || record.State != idem.StateHeld {
			t.Errorf("%s: lease %+v of fence %d, and the row is %+v", id, lease.Key(), lease.Fence(), record)
		}
	}
	all = nil
	for i := range callers {
		all = append(all, func() {
			id := fmt.Sprint("k", i)
			if err := took.leases[id].Complete(b.ctx, &idem.Response{Status: 200 + i, Body: []byte(id)}); err != nil {
				t.Errorf("%s: %v", id, err)
			}
		})
	}
	if t.Failed() {
		return
	}
	if flights := a.gathers(t, completing, nil, all...); len(flights) > callers/2 {
		t.Errorf("%d completions at once took %d statements", callers, len(flights))
	}
	for i := range callers {
		id := fmt.Sprint("k", i)
		_, resp, err := b.newStore(idem.Policy{}).Claim(b.ctx, b.key(id))
		if err != nil || resp.Status != 200+i || string(resp.Body) != id {
			t.Errorf("%s: replayed as %+v, %v", id, resp, err)
		}
	}
	sharesNoTransaction(t, a, before)
}

// sharesNoTransaction checks that no claim, completion or heartbeat travelled with one of another kind.
func sharesNoTransaction(t *testing.T, a *airport, after int) {
	t.Helper()
	kinds := [][]string{claiming, completing, beating}
	flights, _ := a.since(after, slices.Concat(kinds...)...)
	for _, f := range flights {
		of := 0
		for _, kind := range kinds {
			if f.has(kind[0]) || f.has(kind[1]) {
				of++
			}
		}
		if of != 1 {
			t.Errorf("one transaction for %v", f.statements)
		}
	}
}

// Without coalescing every call is a statement of its own, and so it is for a Store's With.
func TestNoCoalescingSharesNothing(t *testing.T) {
	const callers = 12
	a := new(airport)
	b := setup(t, a.trace)
	store := &idem.Store{Pool: b.pool, NoCoalescing: true}
	t.Cleanup(store.Close)
	store = store.With(idem.Policy{Retention: time.Hour})
	took := b.boarding()
	var all []func()
	for i := range callers {
		id := fmt.Sprint("k", i)
		all = append(all, took.caller(store, b.key(id), id))
	}
	flights := a.gathers(t, claiming, nil, all...)
	if len(flights) != callers || fullest(flights).rows() != 1 {
		t.Errorf("%d claims took %d statements", callers, len(flights))
	}
}

// Two callers of one key in one flight are told apart: one has it, the other learns what it would have learnt a moment later.
func TestTwoCallersOfOneKeyInOneFlight(t *testing.T) {
	a := new(airport)
	b := setup(t, a.trace)
	store := b.coalescing(idem.Policy{Retention: time.Hour})
	for name, second := range map[string]struct {
		fingerprint idem.Fingerprint
		want        error
	}{
		"the same request": {idem.FingerprintOf([]byte("$49.00")), idem.ErrInFlight},
		"any request":      {idem.AnyRequest, idem.ErrInFlight},
		"another request":  {idem.FingerprintOf([]byte("$9,000.00")), idem.ErrMismatch},
	} {
		t.Run(name, func(t *testing.T) {
			b := b.on(t)
			b.until(func(n int) bool {
				one, other := b.key(fmt.Sprint("k", n)), b.key(fmt.Sprint("k", n))
				other.Fingerprint = second.fingerprint
				took := b.boarding()
				flights := a.gathers(t, claiming, took.decoys(store, n),
					took.caller(store, one, "one"), took.caller(store, other, "other"), took.caller(store, b.key(fmt.Sprint("n", n)), "neighbour"))
				switch first, lost := took.errs["one"], took.errs["other"]; {
				case first == nil && took.leases["one"] != nil:
					wantIs(t, lost, second.want)
				case lost == nil && took.leases["other"] != nil && second.want == idem.ErrMismatch: //nolint:errorlint // it is the one above
					wantIs(t, first, idem.ErrMismatch)
				case lost == nil && took.leases["other"] != nil && second.fingerprint == idem.AnyRequest:
					wantIs(t, first, idem.ErrMismatch) // a stored AnyRequest is another request
				case lost == nil && took.leases["other"] != nil:
					wantIs(t, first, idem.ErrInFlight)
				default:
					t.Errorf("nobody has the key: %v, %v", first, lost)
				}
				if err := took.errs["neighbour"]; err != nil {
					t.Errorf("the neighbour: %v", err)
				}
				return len(fullest(flights).keys) == 3
			})
		})
	}
}

// In one flight keys of several tenants, endpoints, scopes and policies are stored as single statements store them.
func TestRowsClaimedAndCompletedTogetherAreThoseOfSingleStatements(t *testing.T) {
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe,
		pgx.QueryExecModeDescribeExec, pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol} {
		t.Run(mode.String(), func(t *testing.T) { rowsAreThoseOfSingleStatements(t, mode) })
	}
}

// variant is a key and an answer; each is stored twice, for tenants "on…" and "off…".
type variant struct {
	tenant, endpoint, id, request string
	policy                        idem.Policy
	aged                          bool // past its retention when it is completed
	answer                        *idem.Response
}

func variants() []variant {
	text := func(n int) string { return string(slices.Repeat([]byte("\x00'\\\xffé\n"), n)[:n]) }
	of := []variant{
		{answer: nil},
		{tenant: "b", endpoint: "POST /é \\ 'quoted' {\"a\",NULL} $1", id: "NULL", answer: &idem.Response{Status: 204}},
		{id: "k' \\\" , {}", request: "", answer: &idem.Response{Status: 200, Body: []byte{}}},
		{request: text(100), policy: idem.Policy{Handler: `a'b\c",{}`}, answer: &idem.Response{Status: 200, Body: []byte(text(77))}},
		{request: text(8 << 10), policy: idem.Policy{Handler: "NULL"}, answer: &idem.Response{Status: 201, Body: []byte(text(8 << 10))}},
		{request: text(9 << 10), policy: idem.Policy{Lease: time.Minute}, answer: &idem.Response{Status: 201, Body: []byte(text(1 << 20))}},
		{request: "\x00", policy: idem.Policy{Lease: 1234567 * time.Microsecond, Retention: 32*24*time.Hour + time.Microsecond},
			answer: &idem.Response{Status: 0, Body: []byte("NULL"), ProviderRef: "NULL"}},
		{policy: idem.Policy{Scope: idem.ScopeTenant}, answer: &idem.Response{Status: 402, Failed: true, Body: []byte(`{"a":"\u0000"}`), ProviderRef: `ch_'1\"`}},
		{policy: idem.Policy{MaxBody: 10}, answer: &idem.Response{Status: 999, Body: []byte("more than ten bytes")}},
		{policy: idem.Policy{Retention: 100 * time.Minute}, aged: true, answer: &idem.Response{Status: 200, BodyDropped: true}},
		{aged: true, answer: &idem.Response{Status: 200, Header: map[string][]string{"Location": {"/é", "b'c\\"}, "X": {"a\xe9"}}, Body: []byte("x")}},
	}
	for i := range of {
		of[i].id += fmt.Sprint(" #", i)
		of[i].endpoint += "POST /charges"
	}
	return of
}

func rowsAreThoseOfSingleStatements(t *testing.T, mode pgx.QueryExecMode) {
	a := new(airport)
	b := setup(t, a.trace, func(c *pgxpool.Config) { c.ConnConfig.DefaultQueryExecMode = mode })
	off := &idem.Store{Pool: b.pool, NoCoalescing: true}
	t.Cleanup(off.Close)
	on := b.coalescing(idem.Policy{})
	b.until(func(n int) bool {
		all := variants()
		key := func(v variant, where string) idem.Key {
			return idem.Key{Tenant: fmt.Sprint(where, n, v.tenant), Endpoint: v.endpoint, ID: v.id, Request: v.request,
				Fingerprint: idem.FingerprintOf([]byte(v.id))}
		}
		leases := map[string]*idem.Lease{}
		complete := func(v variant, where string) {
			if err := leases[where+v.id].Complete(b.ctx, v.answer); err != nil {
				t.Errorf("%s%s: completed: %v", where, v.id, err)
			}
		}
		age := func(v variant, where string) {
			if v.aged {
				b.exec(`UPDATE idem.keys SET claimed_at = claimed_at - interval '1 day', locked_until = locked_until - interval '1 day',
					created_at = created_at - interval '1 day', expires_at = expires_at - interval '1 day' WHERE tenant_id = $1 AND key = $2`,
					key(v, where).Tenant, v.id)
			}
		}
		took := b.boarding()
		var claiming1, completing1 []func()
		for _, v := range all {
			took.caller(off.With(v.policy), key(v, "off"), "off"+v.id)()
			claiming1 = append(claiming1, took.caller(on.With(v.policy), key(v, "on"), "on"+v.id))
			completing1 = append(completing1, func() { complete(v, "on") })
		}
		claimed := a.gathers(t, claiming, took.decoys(on, n), claiming1...)
		for name, err := range took.errs {
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		leases = took.leases
		for _, v := range all {
			b.wantTwins("claimed", key(v, "off"), key(v, "on"))
			age(v, "off")
			age(v, "on")
			complete(v, "off")
		}
		var decoys []func()
		for name, lease := range leases {
			if _, err := fmt.Sscanf(name, "decoy"); err == nil {
				decoys = append(decoys, func() { _ = lease.Complete(b.ctx, nil) })
			}
		}
		completed := a.gathers(t, completing, decoys, completing1...)
		for _, v := range all {
			b.wantTwins("completed", key(v, "off"), key(v, "on"))
		}
		// all but the one whose request is too large, and the one whose answer is
		return fullest(claimed).rows() >= len(all)-1 && fullest(completed).rows() >= len(all)-1
	})
}

// twin is a key's row as text, without what differs from claim to claim: times are as far from each other as they are.
const twin = `
	SELECT jsonb_pretty(to_jsonb(k) - '{fence,claim_id,tenant_id,claimed_at,locked_until,created_at,completed_at,expires_at}'::text[] || jsonb_build_object(
		'fence is of the claim', abs(fence - extract(epoch FROM claimed_at + CASE WHEN claimed_at < now() - interval '1 hour' THEN interval '1 day' ELSE '0' END) * 1000000) < 2,
		'leased for', locked_until - claimed_at,
		'created', CASE WHEN attempts = 1 THEN created_at - claimed_at END,
		'completed', completed_at IS NOT NULL,
		'lives for', CASE WHEN attempts = 1 AND created_at >= now() - interval '1 hour' THEN expires_at - created_at END,
		'kept for', CASE WHEN created_at < now() - interval '1 hour' THEN expires_at - completed_at END,
		'in order', claimed_at <= now() AND coalesce(completed_at >= claimed_at, true)))
	FROM idem.keys AS k WHERE tenant_id = $1 AND key = $2`

// wantTwins compares the rows of two keys.
func (b *bundle) wantTwins(when string, want, got idem.Key) {
	b.t.Helper()
	var texts [2]string
	for i, key := range []idem.Key{want, got} {
		if err := b.pool.QueryRow(b.ctx, twin, key.Tenant, key.ID).Scan(&texts[i]); err != nil {
			b.t.Fatalf("%s: %v: %v", when, key, err)
		}
	}
	if texts[0] != texts[1] {
		b.t.Errorf("%s: %q: alone\n%s\ntogether\n%s", when, got.ID, texts[0], texts[1])
	}
}

// A completion of a lost lease fails for its own caller only; one whose row is locked is not lost.
func TestLostLeaseIsCompletedBesideGoodOnes(t *testing.T) {
	a := new(airport)
	b := setup(t, a.trace)
	store := b.coalescing(idem.Policy{Retention: time.Hour})
	b.until(func(n int) bool {
		key := func(name string) idem.Key { return b.key(fmt.Sprint(name, n)) }
		leases := map[string]*idem.Lease{}
		for _, name := range []string{"decoy", "good", "given back", "taken", "finished", "forgotten", "displaced", "fine"} {
			leases[name] = b.claim(store, key(name))
		}
		if err := leases["given back"].Release(b.ctx); err != nil {
			t.Fatal(err)
		}
		b.exec("UPDATE idem.keys SET fence = fence + 1, claim_id = gen_random_uuid() WHERE key = $1", key("taken").ID)
		if err := b.completesTx(b.ctx, leases["finished"], standing()); err != nil {
			t.Fatal(err)
		}
		b.delete(key("forgotten"))
		b.exec("UPDATE idem.keys SET claim_id = gen_random_uuid() WHERE key = $1", key("displaced").ID) // a resolver asks: the fence stays
		errs := map[string]error{}
		var mu sync.Mutex
		complete := func(name string) func() {
			return func() {
				err := leases[name].Complete(b.ctx, &idem.Response{Status: 200, Body: []byte(name)})
				mu.Lock()
				defer mu.Unlock()
				errs[name] = err
			}
		}
		flights := a.gathers(t, completing, []func(){complete("decoy"), func() { _ = b.claim(store, key("another")).Complete(b.ctx, nil) }},
			complete("good"), complete("taken"), complete("finished"), complete("forgotten"), complete("displaced"), complete("fine"))
		for name, want := range map[string]error{"good": nil, "fine": nil, "displaced": nil,
			"taken": idem.ErrLeaseLost, "finished": idem.ErrLeaseLost, "forgotten": idem.ErrLeaseLost} {
			if !errors.Is(errs[name], want) {
				t.Errorf("%s: got %v, want %v", name, errs[name], want)
			}
			if want == nil {
				b.wantStanding(key(name), &idem.Response{Status: 200, Body: []byte(name)})
			}
		}
		b.wantStanding(key("finished"), standing())
		if r := b.record(key("taken")); r.State != idem.StateHeld {
			t.Errorf("the key that was taken is %+v", r)
		}
		return fullest(flights).rows() == 6
	})
}

// P2 for one lease that is completed twice at once: one answer stands, and who brought the other is told so.
func TestLeaseCompletedTwiceAtOnceInOneFlight(t *testing.T) {
	a := new(airport)
	b := setup(t, a.trace)
	store := b.coalescing(idem.Policy{Retention: time.Hour})
	b.until(func(n int) bool {
		lease := b.claim(store, b.key(fmt.Sprint("k", n)))
		decoys := []*idem.Lease{b.claim(store, b.key(fmt.Sprint("d", n))), b.claim(store, b.key(fmt.Sprint("e", n)))}
		neighbour := b.claim(store, b.key(fmt.Sprint("n", n)))
		one, other := standing(), changed(func(r *idem.Response) { r.Body = []byte("9000") })
		var errs [2]error
		complete := func(l *idem.Lease, r *idem.Response, err *error) func() {
			return func() { *err = l.Complete(b.ctx, r) }
		}
		var ignored [3]error
		flights := a.gathers(t, completing,
			[]func(){complete(decoys[0], nil, &ignored[0]), complete(decoys[1], nil, &ignored[1])},
			complete(lease, one, &errs[0]), complete(lease, other, &errs[1]), complete(neighbour, one, &ignored[2]))
		if err := errors.Join(ignored[:]...); err != nil {
			t.Errorf("neighbours: %v", err)
		}
		switch {
		case errs[0] == nil && errors.Is(errs[1], idem.ErrLeaseLost):
			b.wantStanding(lease.Key(), one)
		case errs[1] == nil && errors.Is(errs[0], idem.ErrLeaseLost):
			b.wantStanding(lease.Key(), other)
		default:
			t.Errorf("got %v and %v; want one of them nil, the other ErrLeaseLost", errs[0], errs[1])
		}
		return fullest(flights).rows() >= 2
	})
}
