package idem_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/idem"
)

// Observe is told how every call ended, once, and never of the key.
func TestObserve(t *testing.T) {
	b := setup(t)
	const secret = "secret-key-4711"
	var mu sync.Mutex
	var events []idem.Event
	store := b.newStore(idem.Policy{Retention: time.Hour, Lease: time.Minute, Wait: -1})
	store.Observe = func(_ context.Context, e idem.Event) {
		mu.Lock()
		defer mu.Unlock()
		events = append(events, e)
	}
	broken := storeOn(t, unreachable(b))
	broken.Observe = store.Observe
	n := 0
	fresh := func() idem.Key {
		n++
		return b.key(fmt.Sprint(secret, n))
	}
	do := func(s *idem.Store, key idem.Key, fn idem.TxWork) { _, _ = s.Do(b.ctx, key, fn) }
	refuse := func(context.Context, pgx.Tx) (*idem.Response, error) { return &idem.Response{Failed: true}, nil }
	fail := func(context.Context, pgx.Tx) (*idem.Response, error) { return nil, errWork }
	mismatched := func(key idem.Key) idem.Key {
		key.Fingerprint = idem.FingerprintOf([]byte("other"))
		return key
	}
	for name, test := range map[string]struct {
		call func()
		want idem.Event
	}{
		"done":     {func() { do(store, fresh(), charge("k")) }, idem.Event{Op: "do", Outcome: idem.OutcomeDone, Attempts: 1}},
		"refused":  {func() { do(store, fresh(), refuse) }, idem.Event{Op: "do", Outcome: idem.OutcomeRefused, Attempts: 1}},
		"error":    {func() { do(store, fresh(), fail) }, idem.Event{Op: "do", Outcome: idem.OutcomeError, Attempts: 1}},
		"replayed": {func() { key := fresh(); do(b.store, key, charge("k")); do(store, key, fail) }, idem.Event{Op: "do", Outcome: idem.OutcomeReplayed}},
		"mismatch": {func() { key := fresh(); do(b.store, key, charge("k")); do(store, mismatched(key), fail) }, idem.Event{Op: "do", Outcome: idem.OutcomeMismatch}},
		"in flight": {func() {
			key := fresh()
			b.claim(b.store, key)
			do(store, key, fail)
		}, idem.Event{Op: "do", Outcome: idem.OutcomeInFlight}},
		"outcome unknown": {func() {
			key := fresh()
			_ = b.claim(b.store, key).Abandon(b.ctx)
			_, _ = store.Hold(b.ctx, key, holdMustNotRun(t))
		}, idem.Event{Op: "hold", Outcome: idem.OutcomeOutcomeUnknown}},
		"unavailable": {func() { do(broken, fresh(), fail) }, idem.Event{Op: "do", Outcome: idem.OutcomeUnavailable}},
		"invalid":     {func() { do(store, b.key(strings.Repeat(secret, 20)), fail) }, idem.Event{Op: "do", Outcome: idem.OutcomeInvalid}},
		"the transaction is not fn's": {func() {
			do(store, fresh(), func(ctx context.Context, tx pgx.Tx) (*idem.Response, error) { return nil, tx.Commit(ctx) })
		}, idem.Event{Op: "do", Outcome: idem.OutcomeError, Attempts: 1}},
		"dotx": {func() { _, _ = store.DoTx(b.ctx, b.begin(), fresh(), charge("k")) }, idem.Event{Op: "dotx", Outcome: idem.OutcomeDone, Attempts: 1}},
		"hold": {func() { _, _ = store.Hold(b.ctx, fresh(), answers(created())) }, idem.Event{Op: "hold", Outcome: idem.OutcomeDone, Attempts: 1}},
		"claim": {func() {
			if _, _, err := store.Claim(b.ctx, fresh()); err != nil {
				t.Error(err)
			}
		}, idem.Event{Op: "claim", Outcome: idem.OutcomeDone, Attempts: 1}},
		"lease lost, of Hold": {func() {
			key := fresh()
			_, _ = store.Hold(b.ctx, key, func(context.Context, *idem.Lease) (*idem.Response, error) {
				b.exec("UPDATE idem.keys SET fence = fence + 1, claim_id = gen_random_uuid() WHERE key = $1", key.ID)
				return created(), nil
			})
		}, idem.Event{Op: "hold", Outcome: idem.OutcomeLeaseLost, Attempts: 1}},
		"of a lease": {func() {
			key := fresh()
			lease := b.claim(store, key)
			_, _, _ = lease.Extend(b.ctx), lease.Complete(b.ctx, nil), lease.Extend(b.ctx)
		}, idem.Event{Op: "extend", Outcome: idem.OutcomeLeaseLost, Attempts: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			events = nil
			test.call()
			if len(events) == 0 {
				t.Fatal("Observe was not told")
			}
			got := events[len(events)-1]
			if got.Op != test.want.Op || got.Outcome != test.want.Outcome || got.Attempts != test.want.Attempts {
				t.Errorf("got %s %s, attempt %d (%v); want %s %s, attempt %d",
					got.Op, got.Outcome, got.Attempts, got.Err, test.want.Op, test.want.Outcome, test.want.Attempts)
			}
			if got.Tenant != b.key("").Tenant || got.Endpoint != "POST /charges" || got.Duration <= 0 {
				t.Errorf("tenant, endpoint or duration is missing: %+v", got)
			}
			for _, e := range events {
				if text := fmt.Sprintf("%v %+v", e, e.Err); strings.Contains(text, secret) {
					t.Errorf("the key is in %s", text)
				}
			}
		})
	}
	if nobody := b.newStore(idem.Policy{}); nobody.Observe == nil {
		do(nobody, fresh(), charge("k")) // nil: nobody is told
	}
}

func unreachable(b *bundle) *pgxpool.Pool {
	b.t.Helper()
	config := b.pool.Config()
	config.ConnConfig.Host, config.ConnConfig.Port, config.ConnConfig.Fallbacks = "127.0.0.1", 1, nil
	pool, err := pgxpool.NewWithConfig(b.ctx, config)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(pool.Close)
	return pool
}

// The text of an error holds no key: keys are secrets of their clients.
func TestErrorTextNeverHoldsTheKey(t *testing.T) {
	b := setup(t)
	key := b.key("secret-key-4711")
	b.claim(b.store, key)
	_, err := b.newStore(idem.Policy{Wait: -1}).Do(b.ctx, key, mustNotRun(t))
	if k := keyError(t, err); k.Key != key || k.Op != "do" || strings.Contains(fmt.Sprintf("%v %s", err, err), key.ID) {
		t.Errorf("got %v", err)
	}
}

func TestLookupReadsAKeyWithoutTouchingIt(t *testing.T) {
	b := setup(t)
	store := b.newStore(idem.Policy{Retention: time.Hour, Lease: time.Minute, Handler: "charge"})
	t.Run("no such key", func(t *testing.T) {
		_, err := store.Lookup(b.ctx, b.on(t).key("k"))
		wantIs(t, err, idem.ErrNotFound)
	})
	t.Run("the database is down", func(t *testing.T) {
		_, err := storeOn(t, unreachable(b.on(t))).Lookup(b.ctx, b.key("k"))
		wantIs(t, err, idem.ErrUnavailable)
	})
	t.Run("not a key", func(t *testing.T) {
		_, err := store.Lookup(b.ctx, idem.Key{Tenant: "T1"})
		wantIs(t, err, idem.ErrInvalidKey)
	})
	for state, end := range map[idem.State]func(*idem.Lease) error{
		idem.StateHeld:      func(*idem.Lease) error { return nil },
		idem.StateAbandoned: func(l *idem.Lease) error { return l.Abandon(b.ctx) },
		idem.StateReleased:  func(l *idem.Lease) error { return l.Release(b.ctx) },
		idem.StateCommitted: func(l *idem.Lease) error {
			return l.Complete(b.ctx, &idem.Response{Status: 201, Body: []byte("x"), ProviderRef: "ch_1"})
		},
		idem.StateFailed: func(l *idem.Lease) error { return l.Complete(b.ctx, &idem.Response{Status: 402, Failed: true}) },
	} {
		t.Run(string(state), func(t *testing.T) {
			b := b.on(t)
			key := b.key("k")
			lease := b.claim(store, key)
			if err := end(lease); err != nil {
				t.Fatal(err)
			}
			before := b.row(key)
			asked := key
			asked.Fingerprint = "" // it is not looked at
			record, err := store.Lookup(b.ctx, asked)
			if err != nil {
				t.Fatal(err)
			}
			if b.row(key) != before {
				t.Error("Lookup changed the row")
			}
			finished := state == idem.StateCommitted || state == idem.StateFailed
			unfinished := state == idem.StateHeld || state == idem.StateAbandoned
			switch {
			case record.State != state, record.Fence != lease.Fence(), record.Attempts != 1, record.Handler != "charge",
				record.Key.Fingerprint != key.Fingerprint, record.Key.ID != key.ID, record.ClaimedAt.IsZero(), record.CreatedAt.IsZero():
				t.Errorf("got %+v", record)
			case (record.LockedUntil != nil) != unfinished, (record.CompletedAt != nil) != finished, (record.Response != nil) != finished:
				t.Errorf("%s has LockedUntil %v, CompletedAt %v, Response %v", state, record.LockedUntil, record.CompletedAt, record.Response)
			case state == idem.StateCommitted && (record.Response.ProviderRef != "ch_1" || record.Response.Failed):
				t.Errorf("its answer is %+v", record.Response)
			case state == idem.StateFailed && !record.Response.Failed:
				t.Errorf("its answer is %+v, want a refusal", record.Response)
			}
		})
	}
	t.Run("by tenant alone", func(t *testing.T) {
		b := b.on(t)
		wide := b.newStore(idem.Policy{Scope: idem.ScopeTenant})
		if _, err := wide.Do(b.ctx, b.key("k"), charge("k")); err != nil {
			t.Fatal(err)
		}
		elsewhere := b.key("k")
		elsewhere.Endpoint = "POST /refunds"
		if _, err := wide.Lookup(b.ctx, elsewhere); err != nil {
			t.Errorf("the tenant's key is not found at another endpoint: %v", err)
		}
	})
	t.Run("an expired key is found until it is swept", func(t *testing.T) {
		b := b.on(t)
		b.insertFinished(b.key("k"), "x")
		b.age(b.key("k"), 2*time.Hour)
		if record, err := store.Lookup(b.ctx, b.key("k")); err != nil || record.State != idem.StateCommitted {
			t.Errorf("got %+v, %v", record, err)
		}
	})
}

// What is wrong with a policy is said before anything runs.
func TestPolicyThatCannotHoldIsRefused(t *testing.T) {
	b := setup(t)
	for name, policy := range map[string]idem.Policy{
		"retention shorter than the lease":         {Retention: time.Second, Lease: 2 * time.Second},
		"retention shorter than the default lease": {Retention: time.Second},
		"a lease longer than the default":          {Lease: 48 * time.Hour},
		"negative retention":                       {Retention: -1},
		"negative lease":                           {Lease: -1},
		"a negative cap":                           {MaxBody: -1},
		"an unknown scope":                         {Scope: 7},
		"an unknown stale policy":                  {Stale: 7},
	} {
		t.Run(name, func(t *testing.T) {
			b := b.on(t)
			store := b.newStore(policy)
			if _, err := store.Do(b.ctx, b.key("k"), mustNotRun(t)); err == nil || errors.Is(err, idem.ErrUnavailable) {
				t.Errorf("Do: got %v", err)
			}
			if _, err := store.Hold(b.ctx, b.key("k"), holdMustNotRun(t)); err == nil {
				t.Error("Hold: got no error")
			}
			if _, _, err := store.Claim(b.ctx, b.key("k")); err == nil {
				t.Error("Claim: got no error")
			}
			if err := store.Check(b.ctx); err == nil {
				t.Error("Check: got no error")
			}
			if row := b.row(b.key("k")); row != "" {
				t.Errorf("a key is left: %s", row)
			}
		})
	}
	t.Run("no pool", func(t *testing.T) {
		if _, err := new(idem.Store).Do(b.ctx, b.key("k"), mustNotRun(t)); err == nil {
			t.Error("got no error")
		}
		if err := new(idem.Store).Check(b.ctx); err == nil {
			t.Error("Check: got no error")
		}
	})
	t.Run("the zero policy, and retention equal to the lease, are fine", func(t *testing.T) {
		for i, policy := range []idem.Policy{{}, {Retention: time.Minute, Lease: time.Minute}, {Wait: -time.Hour}} {
			if _, err := b.newStore(policy).Do(b.ctx, b.key(fmt.Sprint(i)), charge("fine")); err != nil {
				t.Errorf("%+v: %v", policy, err)
			}
		}
	})
}

// The zero policy is what its documentation says.
func TestPolicyDefaults(t *testing.T) {
	b := setup(t)
	key := b.key("k")
	b.claim(b.newStore(idem.Policy{}), key)
	var lease, retention time.Duration
	if err := b.pool.QueryRow(b.ctx, "SELECT locked_until - claimed_at, expires_at - locked_until FROM idem.keys WHERE tenant_id = $1", key.Tenant).Scan(&lease, &retention); err != nil {
		t.Fatal(err)
	}
	if lease != 90*time.Second || retention != 24*time.Hour {
		t.Errorf("lease %v, retention %v; want 90 s, 24 h", lease, retention)
	}
}

// What PostgreSQL would refuse after the effect is refused before anything is asked.
func TestKeyThatCannotBeStoredIsRefused(t *testing.T) {
	b := setup(t)
	fp := idem.FingerprintOf()
	long := strings.Repeat("x", 256)
	for name, key := range map[string]idem.Key{
		"nothing":                      {},
		"no tenant":                    {Endpoint: "e", ID: "k", Fingerprint: fp},
		"no endpoint":                  {Tenant: "t", ID: "k", Fingerprint: fp},
		"no id":                        {Tenant: "t", Endpoint: "e", Fingerprint: fp},
		"no fingerprint":               {Tenant: "t", Endpoint: "e", ID: "k"},
		"a tenant of 256 bytes":        {Tenant: long, Endpoint: "e", ID: "k", Fingerprint: fp},
		"an id of 256 bytes":           {Tenant: "t", Endpoint: "e", ID: long, Fingerprint: fp},
		"an id of 128 letters é":       {Tenant: "t", Endpoint: "e", ID: strings.Repeat("é", 128), Fingerprint: fp},
		"an endpoint of 1,025 bytes":   {Tenant: "t", Endpoint: strings.Repeat("x", 1025), ID: "k", Fingerprint: fp},
		"a fingerprint of 66 bytes":    {Tenant: "t", Endpoint: "e", ID: "k", Fingerprint: idem.Fingerprint(strings.Repeat("x", 66))},
		"NUL in the tenant":            {Tenant: "t\x00", Endpoint: "e", ID: "k", Fingerprint: fp},
		"NUL in the endpoint":          {Tenant: "t", Endpoint: "/orders/\x00", ID: "k", Fingerprint: fp},
		"NUL in the id":                {Tenant: "t", Endpoint: "e", ID: "evt\x00", Fingerprint: fp},
		"Latin-1 in the id":            {Tenant: "t", Endpoint: "e", ID: "cl\xe9", Fingerprint: fp},
		"half a surrogate in the id":   {Tenant: "t", Endpoint: "e", ID: "\xed\xa0\x80", Fingerprint: fp},
		"an overlong form in the id":   {Tenant: "t", Endpoint: "e", ID: "\xc0\x80", Fingerprint: fp},
		"broken UTF-8 in the tenant":   {Tenant: "\xff", Endpoint: "e", ID: "k", Fingerprint: fp},
		"broken UTF-8 in the endpoint": {Tenant: "t", Endpoint: "\xff", ID: "k", Fingerprint: fp},
	} {
		t.Run(name, func(t *testing.T) {
			b := b.on(t)
			_, err := b.store.Do(b.ctx, key, mustNotRun(t))
			wantIs(t, err, idem.ErrInvalidKey)
			_, err = b.store.Hold(b.ctx, key, holdMustNotRun(t))
			wantIs(t, err, idem.ErrInvalidKey)
			_, err = b.store.DoTx(b.ctx, b.begin(), key, mustNotRun(t))
			wantIs(t, err, idem.ErrInvalidKey)
			if _, helps := idem.RetryAfter(err); helps {
				t.Error("coming back with a bad key does not help, and the error has a RetryAfter")
			}
		})
	}
	for name, key := range map[string]idem.Key{
		"the shortest":      {Tenant: "t", Endpoint: "e", ID: "k", Fingerprint: "x"},
		"the longest":       {Tenant: long[:255], Endpoint: strings.Repeat("x", 1024), ID: long[:255], Fingerprint: idem.Fingerprint(strings.Repeat("x", 65))},
		"blanks and tabs":   {Tenant: " ", Endpoint: "\t", ID: "\r\n", Fingerprint: fp},
		"outside the BMP":   {Tenant: "🙂", Endpoint: "🙂", ID: "🙂", Fingerprint: fp},
		"a non-character":   {Tenant: "t", Endpoint: "e", ID: "\uffff", Fingerprint: fp},
		"words of SQL":      {Tenant: "';--", Endpoint: "$1", ID: `\x00`, Fingerprint: fp},
		"a raw fingerprint": {Tenant: "t", Endpoint: "e", ID: "raw", Fingerprint: "\xff\x00\xff"},
		"a large request":   {Tenant: "t", Endpoint: "e", ID: "large", Fingerprint: fp, Request: strings.Repeat("\x00\xff", 1<<20)},
		"any request":       {Tenant: "t", Endpoint: "e", ID: "any", Fingerprint: idem.AnyRequest},
	} {
		t.Run(name+" is fine", func(t *testing.T) {
			if _, err := b.store.Do(b.ctx, key, charge("fine")); err != nil {
				t.Fatal(err)
			}
			if again, err := b.store.Do(b.ctx, key, mustNotRun(t)); err != nil || !again.Replayed {
				t.Errorf("got %+v, %v; want a replay", again, err)
			}
		})
	}
}

// The request is kept byte for byte with its key, for a run without its client.
func TestLeaseCarriesWhatItWasGiven(t *testing.T) {
	b := setup(t)
	key := b.key("k")
	key.Request = "POST / HTTP/1.1\r\n\r\n\x00\xff"
	lease := b.claim(b.store, key)
	if lease.Key() != key || string(lease.Request()) != key.Request || lease.Attempt() != 1 || lease.Fence() <= 0 {
		t.Errorf("got %+v, %q, attempt %d, fence %d", lease.Key(), lease.Request(), lease.Attempt(), lease.Fence())
	}
	if n := b.count("SELECT count(*) FROM idem.keys WHERE tenant_id = $1 AND request = $2", key.Tenant, []byte(key.Request)); n != 1 {
		t.Error("the request is not stored as it is")
	}
	if lease := b.claim(b.store, b.key("without")); lease.Request() != nil {
		t.Errorf("got request %q, want nil", lease.Request())
	}
}

// With gives a route its own policy in the same waiting room; a Store on its own is another process.
func TestWithSharesTheWaitingRoom(t *testing.T) {
	b := setup(t)
	key := b.key("k")
	leader := b.session("leader")
	waiter := b.sharing("waiter", leader.store.With(idem.Policy{Wait: 10 * time.Second}))
	b.inOrder(
		leader.does(key, charge("k")), leader.works(),
		waiter.does(key, mustNotRun(t)), b.queued(leader.store, key, 1),
		leader.goesOn(), leader.gets("its own answer", created()),
		waiter.gets("a replay", replayOf(created())),
	)
}

// Close may be called before the first call, twice, and by any With.
func TestCloseClosesTheStoresOwnConnections(t *testing.T) {
	b := setup(t)
	store := b.process(idem.Policy{Retention: time.Hour, Lease: 300 * time.Millisecond}, func(c *pgxpool.Config) {
		c.ConnConfig.RuntimeParams["application_name"] = "closing"
	})
	holder := b.sharing("holder", store)
	connections := "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'closing'"
	b.inOrder(
		holder.holds(b.key("k"), answers(created())), holder.works(),
		do("the heartbeat has its connection", func() {
			b.eventually(func() bool { return b.count(connections) > int(store.Pool.Stat().TotalConns()) }, "no heartbeat")
		}),
		holder.goesOn(), holder.gets("its own answer", created()),
	)
	store.With(idem.Policy{}).Close()
	store.Close()
	b.eventually(func() bool { return b.count(connections) == int(store.Pool.Stat().TotalConns()) }, "connections beside the pool's are left")
	new(idem.Store).Close()
}
