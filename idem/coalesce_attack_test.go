package idem_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/internal/pgproxy"
)

// waited is how long a caller took.
func waited(call func()) time.Duration {
	began := time.Now()
	call()
	return time.Since(began)
}

// A rival that never ends blocks the caller of its own key, and nobody who travels with it.
func TestBlockedKeyKeepsNoNeighbourWaiting(t *testing.T) {
	const neighbours = 20
	a := new(airport)
	b := setup(t, a.trace)
	store := b.coalescing(idem.Policy{Retention: time.Hour, Wait: 10 * time.Minute})
	b.until(func(n int) bool {
		blocked := b.key(fmt.Sprint("blocked", n))
		rival := b.begin()
		b.claimBy(rival, blocked)
		took := b.boarding()
		var callers []func()
		var back sync.WaitGroup
		back.Add(neighbours)
		longest := make(chan time.Duration, neighbours)
		for i := range neighbours {
			id := fmt.Sprint("k", n, " ", i)
			callers = append(callers, func() {
				longest <- waited(took.caller(store, b.key(id), id))
				back.Done()
			})
		}
		callers = append(callers, took.caller(store, blocked, "blocked"))
		ended := make(chan error, 1)
		go func() {
			back.Wait() // every neighbour is back while the rival stands
			ended <- rival.Rollback(b.ctx)
		}()
		flights := a.gathers(t, claiming, took.decoys(store, n), callers...)
		wantIs(t, <-ended, nil)
		for name, err := range took.errs {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		close(longest)
		var most time.Duration
		for d := range longest {
			most = max(most, d)
		}
		t.Logf("%d on board, the longest wait of a neighbour was %v, some of it on the ground", fullest(flights).rows(), most)
		return slices.Contains(fullest(flights).keys, blocked.ID) && fullest(flights).rows() > neighbours/2
	})
}

// An open CompleteTx keeps the completion of its own lease waiting, and nobody's beside it; claims of its key are answered at once.
func TestOpenCompleteTxKeepsNoNeighbourWaiting(t *testing.T) {
	a := new(airport)
	b := setup(t, a.trace)
	store := b.coalescing(idem.Policy{Retention: time.Hour, Wait: 10 * time.Minute})
	b.until(func(n int) bool {
		key := func(name string) idem.Key { return b.key(fmt.Sprint(name, n)) }
		leases := map[string]*idem.Lease{}
		for _, name := range []string{"open", "decoy", "another", "one", "two", "three"} {
			leases[name] = b.claim(store, key(name))
		}
		tx := b.begin()
		if err := leases["open"].CompleteTx(b.ctx, tx, standing()); err != nil {
			t.Fatal(err)
		}
		var back sync.WaitGroup
		complete := func(name string) func() {
			back.Add(1)
			return func() {
				defer back.Done()
				if err := leases[name].Complete(b.ctx, &idem.Response{Status: 200, Body: []byte(name)}); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
		neighbours := []func(){complete("one"), complete("two"), complete("three")}
		decoys := []func(){complete("decoy"), complete("another")}
		committed := make(chan error, 1)
		go func() {
			back.Wait()
			committed <- tx.Commit(b.ctx)
		}()
		var last error
		flights := a.gathers(t, completing, decoys, append(neighbours, func() { last = leases["open"].Complete(b.ctx, standing()) })...)
		wantIs(t, <-committed, nil)
		if last != nil && !errors.Is(last, idem.ErrCommitUnknown) {
			t.Errorf("the completion beside the transaction: %v; want that its answer stands, or that it waited in vain", last)
		}
		b.wantStanding(key("open"), standing())
		took := b.boarding()
		a.gathers(t, claiming, took.decoys(store, n), took.caller(store, key("new"), "new"))
		wantIs(t, took.errs["new"], nil)
		together := fullest(flights).rows() == 4
		if together && len(flights) > len(decoys)+1+1 { // the one that was locked came again, and nobody else
			t.Errorf("the neighbours needed %d statements", len(flights)-len(decoys))
		}
		return together
	})
}

// Callers that are cancelled while their flight is on its way, its leader among them, take nobody with them, and leave no key held.
func TestCancelledCallersOfAFlightAreGivenBackAlone(t *testing.T) {
	for name, whose := range map[string]func(flight) []string{
		"the leader":       func(f flight) []string { return []string{f.leader} },
		"a passenger":      func(f flight) []string { return f.keys[len(f.keys)-1:] },
		"all but one":      func(f flight) []string { return f.keys[1:] },
		"everybody aboard": func(f flight) []string { return f.keys },
	} {
		t.Run(name, func(t *testing.T) {
			a := new(airport)
			b := setup(t, a.trace)
			store := b.coalescing(idem.Policy{Retention: time.Hour})
			b.until(func(n int) bool {
				took := b.boarding()
				cancels := map[string]context.CancelFunc{}
				var callers []func()
				for i := range 8 {
					id := fmt.Sprint("k", n, " ", i)
					ctx, cancel := context.WithCancel(b.ctx)
					cancels[id] = cancel
					defer cancel()
					callers = append(callers, took.callerWith(ctx, store, b.key(id), id))
				}
				var gone []string
				together := false
				a.gathersWhile(t, func(flights []flight) {
					f := fullest(flights)
					if together = f.rows() >= 4 && cancels[f.leader] != nil; !together {
						return
					}
					gone = whose(f)
					for _, id := range gone {
						cancels[id]()
					}
				}, claiming, took.decoys(store, n), callers...)
				for id, err := range took.errs {
					if !slices.Contains(gone, id) {
						if err != nil {
							t.Errorf("neighbour %s: %v", id, err)
						}
						continue
					}
					if !errors.Is(err, context.Canceled) || took.leases[id] != nil {
						t.Errorf("cancelled %s got %v, %v", id, took.leases[id], err)
					}
					if lease := b.claim(b.store, b.key(id)); lease.Attempt() != 1 {
						t.Errorf("cancelled %s: attempt %d", id, lease.Attempt())
					}
				}
				return together
			})
		})
	}
}

// A caller that is cancelled before its claim is on its way sends none.
func TestCallerCancelledOnTheGroundClaimsNothing(t *testing.T) {
	a := new(airport)
	b := setup(t, a.trace)
	store := b.coalescing(idem.Policy{Retention: time.Hour})
	ctx, cancel := context.WithCancelCause(b.ctx)
	cancel(errWork)
	took := b.boarding()
	flights := a.gathers(t, claiming, took.decoys(store, 0), took.callerWith(ctx, store, b.key("gone"), "gone"), took.caller(store, b.key("k"), "k"))
	wantIs(t, took.errs["gone"], errWork)
	wantIs(t, took.errs["k"], nil)
	for _, f := range flights {
		if slices.Contains(f.keys, "gone") {
			t.Errorf("it was sent: %v", f)
		}
	}
	if row := b.row(b.key("gone")); row != "" {
		t.Errorf("it left %s", row)
	}
}

// What a flight may wait is bounded by its least patient caller, and for all rivals together by twice what it may wait for one.
func TestFlightWaitsForItsLeastPatientCaller(t *testing.T) {
	a := new(airport)
	b := setup(t, a.trace)
	store := b.coalescing(idem.Policy{})
	for name, c := range map[string]struct {
		policy          idem.Policy
		statement, lock int // ms at most
	}{
		"by default":            {idem.Policy{}, 100, 50},
		"one never waits":       {idem.Policy{Wait: -1}, 100, 20},
		"one waits for 30 ms":   {idem.Policy{Wait: 30 * time.Millisecond}, 100, 30},
		"one's lease is 150 ms": {idem.Policy{Lease: 150 * time.Millisecond}, 50, 50},
		"one's lease is 3 ms":   {idem.Policy{Lease: 3 * time.Millisecond}, 20, 50},
	} {
		t.Run(name, func(t *testing.T) {
			b := b.on(t)
			b.until(func(n int) bool {
				took := b.boarding()
				var callers []func()
				for i := range 4 {
					id := fmt.Sprint("k", n, " ", i)
					callers = append(callers, took.caller(store.With(idem.Policy{Wait: time.Hour}), b.key(id), id))
				}
				id := fmt.Sprint("hasty", n)
				callers = append(callers, took.caller(store.With(c.policy), b.key(id), id))
				f := fullest(a.gathers(t, claiming, took.decoys(store, n), callers...))
				if !slices.Contains(f.keys, id) || f.rows() < 2 {
					return false
				}
				for i, most := range []int{c.statement, c.lock} {
					if ms, err := strconv.Atoi(f.settings[i].(string)); err != nil || ms < 1 || ms > most {
						t.Errorf("setting %d is %q, want at most %d ms", i, f.settings[i], most)
					}
				}
				return true
			})
		})
	}
}

// The heartbeat for several leases goes on when the work of the one that leads it ends.
func TestHeartbeatForSeveralOutlivesItsLeadersWork(t *testing.T) {
	a := new(airport)
	b := setup(t, a.trace)
	store := b.coalescing(idem.Policy{Retention: time.Hour, Lease: 6 * time.Second})
	b.until(func(n int) bool {
		const leases = 10
		letGo := a.ground(beating[1:])
		defer letGo()
		var working, ended sync.WaitGroup
		working.Add(leases)
		goOn := map[string]chan struct{}{}
		for i := range leases {
			id := fmt.Sprint("k", n, " ", i)
			finish := make(chan struct{})
			goOn[id] = finish
			ended.Go(func() {
				_, err := store.Hold(as(b.ctx, id), b.key(id), func(context.Context, *idem.Lease) (*idem.Response, error) {
					working.Done()
					<-finish
					return created(), nil
				})
				if err != nil {
					t.Errorf("%s: %v", id, err)
				}
			})
		}
		working.Wait()
		_, before := a.since(0)
		var f flight
		b.eventually(func() bool {
			flights, _ := a.since(before, beating[1:]...)
			f = fullest(flights)
			return f.rows() > 1
		}, "no two leases were extended together")
		var from time.Time
		if err := b.pool.QueryRow(b.ctx, "SELECT now()").Scan(&from); err != nil {
			t.Fatal(err)
		}
		_, before = a.since(0)
		close(goOn[f.leader])
		together := f.rows() >= leases/2
		for deadline := time.Now().Add(50 * time.Millisecond); time.Now().Before(deadline); { // the leader's end is known by then
			time.Sleep(time.Millisecond)
		}
		letGo()
		b.eventually(func() bool {
			return b.count("SELECT count(*) FROM idem.keys WHERE key = ANY ($1::text[]) AND key <> $2 AND locked_until > $3::timestamptz + interval '6 s'",
				f.keys, f.leader, from) == f.rows()-1
		}, "the others were not extended")
		again, _ := a.since(before, beating...)
		for _, other := range again {
			if slices.Contains(f.keys, other.leader) {
				t.Errorf("%s, who was on board, was extended by another statement", other.leader)
			}
		}
		for id, finish := range goOn {
			if id != f.leader {
				close(finish)
			}
		}
		ended.Wait()
		return together
	})
}

// A lease that is handed over while its heartbeat waits for the connection is left to the next process, also while its work goes on.
func TestHeartbeatUnderWayDoesNotReviveALeaseThatWasHandedOver(t *testing.T) {
	const leases = 8
	landed := make(chan flight, 100)
	a := &airport{lands: func(f flight) {
		if f.has("LeaseExtendMany") {
			landed <- f
		}
	}}
	b := setup(t)
	var next atomic.Pointer[chan struct{}] // what the next connection waits for
	dialling := make(chan struct{}, 1)
	pool := b.coalescingProcess(idem.Policy{}, a.trace, func(c *pgxpool.Config) {
		dial := c.ConnConfig.DialFunc
		c.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
			if gate := next.Swap(nil); gate != nil {
				dialling <- struct{}{}
				<-*gate
			}
			return dial(ctx, network, address)
		}
	}).Pool
	b.until(func(n int) bool {
		store := &idem.Store{Pool: pool, Policy: idem.Policy{Retention: time.Hour, Lease: 1500 * time.Millisecond}}
		defer store.Close()
		finish, gate := make(chan struct{}), make(chan struct{})
		var working, ended sync.WaitGroup
		working.Add(leases)
		for i := range leases {
			ended.Go(func() {
				_, _ = store.Hold(b.ctx, b.key(fmt.Sprint("k", n, " ", i)), func(context.Context, *idem.Lease) (*idem.Response, error) {
					working.Done()
					<-finish
					return nil, errWork
				})
			})
		}
		working.Wait()
		next.Store(&gate)
		b.receive(dialling, "no heartbeat opened its connection")
		time.Sleep(60 * time.Millisecond) // for the others to be on board: nothing shows it
		now, cancel := context.WithCancel(b.ctx)
		cancel()
		if err := store.Drain(now); err == nil {
			t.Error("nothing was handed over")
		}
		close(gate)
		together := false
		select {
		case f := <-landed:
			together = f.rows() > 1
			for _, id := range f.keys {
				if r := b.record(b.key(id)); r.State != idem.StateAbandoned {
					t.Errorf("%s is %s after it was handed over", id, r.State)
				}
			}
		case <-time.After(time.Second):
		}
		close(finish)
		ended.Wait()
		return together
	})
}

// One caller whose statement the server refuses is refused alone.
func TestErrorsOfAFlightReachTheirCallerAlone(t *testing.T) {
	a := new(airport)
	b := setup(t, a.trace)
	store := b.coalescing(idem.Policy{Retention: time.Hour})
	b.until(func(n int) bool {
		took := b.boarding()
		bad := fmt.Sprint("bad", n)
		callers := []func(){took.caller(store.With(idem.Policy{Handler: "no text: \xff"}), b.key(bad), bad)}
		for i := range 6 {
			id := fmt.Sprint("k", n, " ", i)
			callers = append(callers, took.caller(store, b.key(id), id))
		}
		f := fullest(a.gathers(t, claiming, took.decoys(store, n), callers...))
		for id, err := range took.errs {
			if id == bad != errors.Is(err, idem.ErrUnavailable) || id != bad && err != nil {
				t.Errorf("%s: %v", id, err)
			}
		}
		return f.rows() == 7
	})
}

// P5: a database that takes no writes lets nobody in, together as alone.
func TestFlightToADatabaseThatTakesNoWritesLetsNobodyIn(t *testing.T) {
	a := new(airport)
	b := setup(t)
	store := b.coalescingProcess(idem.Policy{Retention: time.Hour}, a.trace, func(c *pgxpool.Config) {
		c.ConnConfig.RuntimeParams["default_transaction_read_only"] = "on"
	})
	took := b.boarding()
	var callers []func()
	for i := range 10 {
		id := fmt.Sprint("k", i)
		callers = append(callers, took.caller(store, b.key(id), id))
	}
	a.gathers(t, claiming, took.decoys(store, 0), callers...)
	for id, err := range took.errs {
		if !errors.Is(err, idem.ErrUnavailable) {
			t.Errorf("%s: %v", id, err)
		}
	}
}

// faults are the ways in which the connection of a flight ends in its middle.
var faults = map[string]pgproxy.Fault{
	"before COMMIT arrives":       pgproxy.CutBefore,
	"before COMMIT is answered":   pgproxy.DropAnswer,
	"its backend is terminated":   pgproxy.Pass,
	"it is terminated at the end": pgproxy.Pass,
}

// Everybody on a flight whose connection dies gets the key all the same, once: who was claimed for is told so.
func TestConnectionThatDiesUnderAFlightLosesNoClaim(t *testing.T) {
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			b, a, store, broken := underFaults(t, name, fault, "KeyClaimMany")
			b.until(func(n int) bool {
				took := b.boarding()
				var callers []func()
				for i := range 12 {
					id := fmt.Sprint("k", n, " ", i)
					callers = append(callers, took.caller(store, b.key(id), id))
				}
				f := fullest(a.gathers(t, claiming, took.decoys(store, n), callers...))
				for id, err := range took.errs {
					if err != nil {
						t.Errorf("%s: %v", id, err)
						continue
					}
					if r := b.record(b.key(id)); r.State != idem.StateHeld || r.Fence != took.leases[id].Fence() || r.Attempts != 1 {
						t.Errorf("%s: the row is %+v, and the lease has fence %d", id, r, took.leases[id].Fence())
					}
					if err := took.leases[id].Complete(b.ctx, nil); err != nil {
						t.Errorf("%s: completed: %v", id, err)
					}
				}
				return f.rows() > 6 && broken() > 0
			})
		})
	}
}

// Everybody's answer is recorded once, whatever becomes of the connection that carries it.
func TestConnectionThatDiesUnderAFlightLosesNoCompletion(t *testing.T) {
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			b, a, store, broken := underFaults(t, name, fault, "KeyCompleteMany")
			b.until(func(n int) bool {
				var all []func()
				for i := range 10 {
					id := fmt.Sprint("k", n, " ", i)
					lease := b.claim(store, b.key(id))
					all = append(all, func() {
						answer := &idem.Response{Status: 200, Body: []byte(id)}
						if err := lease.Complete(b.ctx, answer); err != nil {
							t.Errorf("%s: %v", id, err)
						}
						b.wantStanding(b.key(id), answer)
					})
				}
				f := fullest(a.gathers(t, completing, all[:2], all[2:]...))
				return f.rows() > 4 && broken() > 0
			})
		})
	}
}

// Heartbeats go on after their connection has died, and nobody's lease is lost.
func TestConnectionThatDiesUnderAHeartbeatForSeveralLosesNoLease(t *testing.T) {
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			b, _, store, broken := underFaults(t, name, fault, "LeaseExtendMany")
			const leases = 8
			store = store.With(idem.Policy{Retention: time.Hour, Lease: 900 * time.Millisecond})
			finish := make(chan struct{})
			var ended sync.WaitGroup
			for i := range leases {
				ended.Go(func() {
					_, err := store.Hold(b.ctx, b.key(fmt.Sprint("k", i)), func(ctx context.Context, _ *idem.Lease) (*idem.Response, error) {
						select {
						case <-finish:
						case <-ctx.Done():
							t.Errorf("lease %d: %v", i, context.Cause(ctx))
						}
						return created(), nil
					})
					if err != nil {
						t.Errorf("lease %d: %v", i, err)
					}
				})
			}
			b.eventually(func() bool { return broken() >= 3 }, "no heartbeat for several was broken")
			close(finish)
			ended.Wait()
		})
	}
}

// underFaults is a store whose flights with a statement of that name break, and how many have.
func underFaults(t *testing.T, name string, fault pgproxy.Fault, statement string) (b *bundle, a *airport, store *idem.Store, broken func() int) {
	var mu sync.Mutex
	var next bool // the next COMMIT is a flight's
	var n int
	a = new(airport)
	b = setup(t)
	proxy := &pgproxy.Proxy{OnCommit: func() pgproxy.Fault {
		mu.Lock()
		defer mu.Unlock()
		if !next || fault == pgproxy.Pass {
			return pgproxy.Pass
		}
		next = false
		n++
		return fault
	}}
	terminate := func(pid uint32) {
		mu.Lock()
		n++
		mu.Unlock()
		b.execAsOwner("SELECT pg_terminate_backend($1)", int32(pid))
	}
	var pid uint32
	a.takesOff = func(conn *pgx.Conn, f flight) {
		if !f.has(statement) {
			return
		}
		a.alone() // or the COMMIT that breaks would be another's
		mu.Lock()
		next, pid = true, conn.PgConn().PID()
		mu.Unlock()
		if name == "its backend is terminated" {
			terminate(pid)
		}
	}
	a.lands = func(f flight) {
		mu.Lock()
		pid := pid
		mu.Unlock()
		if name == "it is terminated at the end" && f.has(statement) {
			terminate(pid)
		}
	}
	store = b.throughProxy(proxy, idem.Policy{Retention: time.Hour}, a.trace)
	store.NoCoalescing = false
	return b, a, store, func() int {
		mu.Lock()
		defer mu.Unlock()
		return n
	}
}
