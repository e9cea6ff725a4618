package idem_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pgidem/pgidem/gen"
	"github.com/pgidem/pgidem/idem"
)

// state is what a key is in when its caller comes.
type state struct {
	name   string
	make   func(b *bundle, key idem.Key) // nil: no row
	policy idem.Policy
	change func(*idem.Key) // of what the caller asks with
}

func states() []state {
	other := func(k *idem.Key) { k.Fingerprint = idem.FingerprintOf([]byte("$9,000.00")) }
	finished := func(r *idem.Response) func(*bundle, idem.Key) {
		return func(b *bundle, key idem.Key) {
			if err := b.claim(b.store, key).Complete(b.ctx, r); err != nil {
				b.t.Fatal(err)
			}
		}
	}
	held := func(b *bundle, key idem.Key) { b.claim(b.store, key) }
	aged := func(d time.Duration, then func(*bundle, idem.Key)) func(*bundle, idem.Key) {
		return func(b *bundle, key idem.Key) {
			then(b, key)
			b.age(key, d)
		}
	}
	released := func(steps bool) func(*bundle, idem.Key) {
		return func(b *bundle, key idem.Key) {
			lease := b.claim(b.store, key)
			if steps {
				if _, err := lease.Step(b.ctx, "charge", new(downstream).charge); err != nil {
					b.t.Fatal(err)
				}
			}
			b.giveBack(key)
		}
	}
	body := func(s string, n int) *idem.Response {
		return &idem.Response{Status: 201, Body: slices.Repeat([]byte(s), n), Header: map[string][]string{"Location": {"/1"}}}
	}
	found := func(context.Context, *idem.Record) (idem.Verdict, *idem.Response, error) {
		return idem.Found, standing(), nil
	}
	return []state{
		{name: "new"},
		{name: "new, with a name of its own", policy: idem.Policy{Handler: "h", Lease: time.Minute}, change: func(k *idem.Key) { k.Request = "r" }},
		{name: "finished", make: finished(standing())},
		{name: "finished with nothing", make: finished(nil)},
		{name: "finished with no body", make: finished(&idem.Response{Status: 204, Body: []byte{}})},
		{name: "finished with NUL", make: finished(body("\x00", 3))},
		{name: "finished with 8 KiB", make: finished(body("x", 8<<10))},
		{name: "finished with a byte more", make: finished(body("y", 8<<10+1))},
		{name: "finished with 1 MiB", make: finished(body("abcd", 1<<18))},
		{name: "finished without its body", make: finished(&idem.Response{Status: 200, BodyDropped: true, ProviderRef: "ch_1"})},
		{name: "refused", make: finished(&idem.Response{Status: 402, Failed: true, Body: []byte("declined")})},
		{name: "finished for another request", make: finished(standing()), change: other},
		{name: "finished with 1 MiB for another request", make: finished(body("abcd", 1<<18)), change: other},
		{name: "finished for any request", make: func(b *bundle, key idem.Key) {
			key.Fingerprint = idem.AnyRequest
			finished(standing())(b, key)
		}},
		{name: "finished, whatever the request", make: finished(standing()), change: func(k *idem.Key) { k.Fingerprint = idem.AnyRequest }},
		{name: "finished under an older version", make: finished(standing()), change: func(k *idem.Key) { k.Fingerprint = "\x07" + k.Fingerprint[1:] }},
		{name: "held", make: held},
		{name: "held for another request", make: held, change: other},
		{name: "expired", make: aged(3*time.Hour, finished(standing()))},
		{name: "expired, another request", make: aged(3*time.Hour, finished(body("abcd", 1<<18))), change: other},
		{name: "given back", make: released(false)},
		{name: "given back, another request", make: released(false), change: other},
		{name: "given back with a step", make: released(true)},
		{name: "given back with a step, another request", make: released(true), change: other},
		{name: "abandoned", make: aged(10*time.Minute, held)},
		{name: "abandoned, another request", make: aged(10*time.Minute, held), change: other},
		{name: "abandoned, to be run again", make: aged(10*time.Minute, held), policy: idem.Policy{Stale: idem.StaleRerun}},
		{name: "abandoned, not to be asked about yet", make: aged(10*time.Minute, held), policy: idem.Policy{Stale: idem.StaleResolve, Settle: time.Hour, Resolve: found}},
		{name: "abandoned, to be asked about", make: aged(10*time.Minute, held), policy: idem.Policy{Stale: idem.StaleResolve, Settle: time.Second, Resolve: found}},
	}
}

// outcome is what a caller got.
type outcome struct {
	Attempt int // of the lease; 0: none
	Steps   int
	Resp    *idem.Response
	Err     string
	After   time.Duration
	Version byte
}

func (b *bundle) outcome(store *idem.Store, key idem.Key) (o outcome) {
	lease, resp, err := store.Claim(b.ctx, key)
	o.Resp = resp
	if resp != nil && len(resp.Body) > 100 {
		own := *resp
		own.Body = fmt.Appendf(nil, "%d bytes %.10s", len(resp.Body), resp.Body)
		o.Resp = &own
	}
	if lease != nil {
		o.Attempt = lease.Attempt()
	}
	var keyed *idem.KeyError
	if errors.As(err, &keyed) {
		o.After, o.Version = keyed.RetryAfter.Round(time.Second), keyed.FingerprintVersion
	}
	if err != nil {
		o.Err = "another error: " + err.Error()
	}
	for _, known := range []error{idem.ErrInFlight, idem.ErrMismatch, idem.ErrOutcomeUnknown, idem.ErrUnavailable, idem.ErrContended} {
		if errors.Is(err, known) {
			o.Err = known.Error()
		}
	}
	return o
}

// Whatever state a key is in, its caller in a flight with others gets what it would have got alone, and leaves the same behind.
func TestEveryStateOfAKeyIsAnsweredInOneFlight(t *testing.T) {
	a := new(airport)
	b := setup(t, a.trace)
	b.store = b.newStore(idem.Policy{Retention: 2 * time.Hour})
	off := &idem.Store{Pool: b.pool, NoCoalescing: true}
	t.Cleanup(off.Close)
	b.until(func(n int) bool {
		on := b.coalescing(idem.Policy{}) // which has seen none of the keys
		all := states()
		key := func(s state, where string) idem.Key {
			return idem.Key{Tenant: fmt.Sprint(where, n), Endpoint: "POST /charges", ID: s.name, Fingerprint: idem.FingerprintOf([]byte("$49.00"))}
		}
		asks := func(s state, where string) idem.Key {
			k := key(s, where)
			if s.change != nil {
				s.change(&k)
			}
			return k
		}
		for _, s := range all {
			for _, where := range []string{"on", "off"} {
				if s.make != nil {
					s.make(b, key(s, where))
				}
			}
		}
		alone, together := make([]outcome, len(all)), make([]outcome, len(all))
		var callers []func()
		for i, s := range all {
			alone[i] = b.outcome(off.With(s.policy), asks(s, "off"))
			callers = append(callers, func() { together[i] = b.outcome(on.With(s.policy), asks(s, "on")) })
		}
		flights := a.gathers(t, claiming, b.boarding().decoys(on, n), callers...)
		for i, s := range all {
			if diff := cmp.Diff(alone[i], together[i], sameAnswer); diff != "" {
				t.Errorf("%s: (-alone +together)\n%s", s.name, diff)
			}
			if b.row(key(s, "off")) != "" || b.row(key(s, "on")) != "" {
				b.wantTwins(s.name, key(s, "off"), key(s, "on"))
			}
			if off, on := b.steps(key(s, "off")), b.steps(key(s, "on")); off != on {
				t.Errorf("%s: %d steps left alone, %d together", s.name, off, on)
			}
		}
		return fullest(flights).rows() == len(all)
	})
}

// The answer that one caller of a flight reads is its own: every one of many finished keys is replayed as it was recorded, among new
// ones.
func TestReplaysOfOneFlightAreNotMixedUp(t *testing.T) {
	const keys = 60
	a := new(airport)
	b := setup(t, a.trace)
	for i := range keys {
		b.insertFinished(b.key(fmt.Sprint("k", i)), fmt.Sprint("answer ", i))
	}
	b.until(func(n int) bool {
		store := b.coalescing(idem.Policy{})
		var callers []func()
		took := b.boarding()
		for i := range keys {
			if id := fmt.Sprint("new ", n, " ", i); i%3 == 0 {
				callers = append(callers, took.caller(store, b.key(id), id))
			}
			callers = append(callers, func() {
				_, resp, err := store.Claim(b.ctx, b.key(fmt.Sprint("k", i)))
				if err != nil || !resp.Replayed || string(resp.Body) != fmt.Sprint("answer ", i) {
					t.Errorf("key %d: %+v, %v", i, resp, err)
				}
			})
		}
		flights := a.gathers(t, claiming, took.decoys(store, n), callers...)
		for id, err := range took.errs {
			if err != nil || took.leases[id].Key().ID != id {
				t.Errorf("%s: %v", id, err)
			}
		}
		return fullest(flights).rows() > keys/2
	})
}

// Who asks for a large answer gets it alone, so that nobody waits while it is read and sent; large requests and answers are written
// alone too.
func TestLargeAnswersTravelAlone(t *testing.T) {
	const large = 8<<10 + 1
	a := new(airport)
	b := setup(t, a.trace)
	b.insertFinished(b.key("large"), string(make([]byte, large)))
	b.insertFinished(b.key("small"), string(make([]byte, large-1)))
	b.until(func(n int) bool {
		store := b.coalescing(idem.Policy{})
		replays := func(id string) func() {
			return func() {
				_, resp, err := store.Claim(b.ctx, b.key(id))
				if err != nil || len(resp.Body) < large-1 {
					t.Errorf("%s: %+v, %v", id, resp, err)
				}
			}
		}
		took := b.boarding()
		requests := b.key(fmt.Sprint("requests", n))
		requests.Request = string(make([]byte, large))
		decoys := took.decoys(store, n)
		flights := a.gathers(t, claiming, decoys, replays("large"), replays("small"), took.caller(store, requests, "requests"))
		wantIs(t, took.errs["requests"], nil)
		together := fullest(flights)
		if slices.Contains(together.keys, requests.ID) {
			t.Errorf("the large request travelled with %v", together.keys)
		}
		if together.rows() != 2 {
			return false
		}
		if len(flights) != len(decoys)+3 { // the two together, the large answer after that, and the large request
			t.Errorf("%d statements", len(flights))
		}
		var leases []*idem.Lease
		for i := range 5 {
			leases = append(leases, b.claim(store, b.key(fmt.Sprint("k", n, " ", i))))
		}
		completes := func(i, size int) func() {
			return func() {
				if err := leases[i].Complete(b.ctx, &idem.Response{Body: make([]byte, size)}); err != nil {
					t.Errorf("lease %d: %v", i, err)
				}
			}
		}
		flights = a.gathers(t, completing, []func(){completes(0, 1), completes(1, 1)}, completes(2, 1), completes(3, large-1), completes(4, large))
		if f := fullest(flights); slices.Contains(f.keys, leases[4].Key().ID) {
			t.Errorf("the large answer travelled with %v", f.keys)
		}
		return fullest(flights).rows() == 2
	})
}

// 64 leases are extended by a few statements. A row that somebody has locked is neither waited for by the others nor taken for lost,
// and a lease that is lost is told so, and no other.
func TestHeartbeatsOf64LeasesShareAStatement(t *testing.T) {
	const leases, lost, locked = 64, 7, 13
	a := new(airport)
	b := setup(t, a.trace)
	store := b.coalescing(idem.Policy{Retention: time.Hour, Lease: 1500 * time.Millisecond, Stale: idem.StaleRerun})
	goOn := make(chan struct{})
	var working, ended sync.WaitGroup
	working.Add(leases)
	cancelled := make([]chan struct{}, leases)
	for i := range leases {
		cancelled[i] = make(chan struct{})
		ended.Go(func() {
			_, err := store.Hold(b.ctx, b.key(fmt.Sprint("k", i)), func(ctx context.Context, l *idem.Lease) (*idem.Response, error) {
				working.Done()
				select {
				case <-goOn:
				case <-ctx.Done():
					close(cancelled[i])
					return nil, context.Cause(ctx)
				}
				return created(), nil
			})
			if i == lost != errors.Is(err, idem.ErrLeaseLost) || i != lost && err != nil {
				t.Errorf("lease %d: %v", i, err)
			}
		})
	}
	working.Wait()
	key := func(i int) idem.Key { return b.key(fmt.Sprint("k", i)) }
	rival := b.begin()
	if _, err := rival.Exec(b.ctx, "SELECT FROM idem.keys WHERE key = $1 FOR UPDATE", key(locked).ID); err != nil {
		t.Fatal(err)
	}
	b.exec("UPDATE idem.keys SET fence = fence + 1, claim_id = gen_random_uuid() WHERE key = $1", key(lost).ID)
	_, before := a.since(0)
	b.receive(cancelled[lost], "the lease that is lost was never told so")
	// Every lease but these two is extended, time and again, while the rival stands.
	for range 2 {
		var from time.Time
		if err := b.pool.QueryRow(b.ctx, "SELECT now()").Scan(&from); err != nil {
			t.Fatal(err)
		}
		b.eventually(func() bool {
			return b.count("SELECT count(*) FROM idem.keys WHERE locked_until > $1::timestamptz + interval '1.5 s'", from) >= leases-2
		}, "the neighbours were not extended")
	}
	flights, _ := a.since(before, beating...)
	most := fullest(flights)
	if most.rows() < leases/2 {
		t.Errorf("%d leases were extended by %d statements, the fullest for %d", leases, len(flights), most.rows())
	}
	select {
	case <-cancelled[locked]:
		t.Error("the lease whose row is locked was taken for lost")
	default:
	}
	b.rollback(rival)
	close(goOn)
	ended.Wait()
	sharesNoTransaction(t, a, 0)
	if r := b.record(key(locked)); r.State != idem.StateCommitted {
		t.Errorf("the key that was locked is %+v", r)
	}
}

// A lease that is lost is told so by the first heartbeat that it has with others, and its work ends.
func TestLostLeaseIsToldSoByAHeartbeatForSeveral(t *testing.T) {
	const leases = 10
	a := new(airport)
	b := setup(t, a.trace)
	store := b.coalescing(idem.Policy{Retention: time.Hour, Lease: 1500 * time.Millisecond})
	b.until(func(n int) bool {
		finish, cancelled := make(chan struct{}), make(chan struct{})
		lost := fmt.Sprint("lost", n)
		var working, ended sync.WaitGroup
		for i := range leases {
			working.Add(1)
			id := fmt.Sprint("k", n, " ", i)
			if i == leases/2 {
				id = lost
			}
			ended.Go(func() {
				_, _ = store.Hold(b.ctx, b.key(id), func(ctx context.Context, _ *idem.Lease) (*idem.Response, error) {
					working.Done()
					select {
					case <-finish:
					case <-ctx.Done():
						if id != lost {
							t.Errorf("%s: %v", id, context.Cause(ctx))
						} else {
							close(cancelled)
						}
					}
					return nil, nil
				})
			})
		}
		working.Wait()
		b.exec("UPDATE idem.keys SET fence = fence + 1, claim_id = gen_random_uuid() WHERE key = $1", lost)
		_, before := a.since(0)
		b.receive(cancelled, "the lease that is lost was never told so")
		flights, _ := a.since(before, beating[1:]...)
		told := 0
		for _, f := range flights {
			if slices.Contains(f.keys, lost) {
				told++
			}
		}
		if told > 1 {
			t.Errorf("it was told so by the %dth heartbeat", told)
		}
		close(finish)
		ended.Wait()
		return told == 1
	})
}

// Found by its own claim id, a claim is not taken for a rival's, whatever came between.
func TestClaimIDsOfAFlightAreEachCallersOwn(t *testing.T) {
	a := new(airport)
	b := setup(t, a.trace)
	store := b.coalescing(idem.Policy{Retention: time.Hour})
	took := b.boarding()
	var callers []func()
	for i := range 20 {
		id := fmt.Sprint("k", i)
		callers = append(callers, took.caller(store, b.key(id), id))
	}
	a.gathers(t, claiming, took.decoys(store, 0), callers...)
	seen := map[[16]byte]bool{}
	for id := range took.leases {
		key := b.key(id)
		found, err := gen.New().KeyLookup(b.ctx, b.pool, gen.KeyLookupParams{TenantID: key.Tenant, Endpoint: key.Endpoint, Key: key.ID})
		if err != nil || seen[found.ClaimID.Bytes] {
			t.Errorf("%s: %v under claim id %v, which another key has: %v", id, err, found.ClaimID, seen[found.ClaimID.Bytes])
		}
		seen[found.ClaimID.Bytes] = true
	}
}
