package idem_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/idem"
)

// stalling makes the connections of a pool such that their sending can be held up one by one.
func stalling(c *pgxpool.Config) {
	c.ConnConfig.TLSConfig, c.ConnConfig.Fallbacks = nil, nil
	dial := c.ConnConfig.DialFunc
	c.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &stallingConn{Conn: conn}, nil
	}
}

// stallingConn sends nothing until the channel is closed, as over a network that loses packets and delivers them in the end.
type stallingConn struct {
	net.Conn
	until atomic.Pointer[chan struct{}]
}

func (c *stallingConn) Write(b []byte) (int, error) {
	if until := c.until.Load(); until != nil {
		<-*until
	}
	return c.Conn.Write(b)
}

// A flight is held up in the network for so long that its callers look whether they have their keys: they have not. Then it arrives
// after all, before they ask again. They know their own claims, and nobody is kept out by a claim that nobody holds.
func TestFlightThatArrivesAfterItWasReadBackIsItsCallersOwn(t *testing.T) {
	t.Parallel()
	a := new(airport)
	b := setup(t)
	var held atomic.Pointer[stallingConn]
	var keys atomic.Pointer[[]string]
	var late atomic.Int64
	arrives := make(chan struct{})
	var once sync.Once
	a.takesOff = func(conn *pgx.Conn, f flight) {
		if f.rows() >= 3 && f.has("KeyClaimMany") && keys.CompareAndSwap(nil, &f.keys) {
			c := conn.PgConn().Conn().(*stallingConn)
			held.Store(c)
			c.until.Store(&arrives)
		}
	}
	a.lands = func(f flight) {
		if !f.has("KeyProbe") {
			return
		}
		once.Do(func() { // who has read back, and found nothing, is kept here while the flight arrives
			held.Load().until.Store(nil)
			close(arrives)
			b.eventually(func() bool {
				return b.count("SELECT count(*) FROM idem.keys WHERE key = ANY ($1::text[])", *keys.Load()) == len(*keys.Load())
			}, "the flight never arrived")
			late.Add(1)
		})
	}
	store := b.coalescingProcess(idem.Policy{Retention: time.Hour, Wait: 20 * time.Second}, stalling, a.trace)
	took := b.boarding()
	b.until(func(n int) bool {
		var callers []func()
		for i := range 6 {
			id := fmt.Sprint("k", n, " ", i)
			callers = append(callers, took.caller(store, b.key(id), id))
		}
		a.gathers(t, claiming, took.decoys(store, n), callers...)
		return keys.Load() != nil
	})
	if late.Load() != 1 {
		t.Fatal("nobody read back")
	}
	for _, id := range *keys.Load() {
		if err := took.errs[id]; err != nil {
			t.Errorf("%s: %v", id, err)
			continue
		}
		if r := b.record(b.key(id)); r.State != idem.StateHeld || r.Fence != took.leases[id].Fence() {
			t.Errorf("%s: the row is %+v, and the lease has fence %d", id, r, took.leases[id].Fence())
		}
	}
}

// Completions that travel together, and find neither the pool nor a network to dial over, end all the same.
func TestFlightWithoutAConnectionStrandsNobody(t *testing.T) {
	t.Parallel()
	var down atomic.Bool
	over := make(chan struct{})
	defer close(over)
	a := new(airport)
	b := setup(t)
	store := b.coalescingProcess(idem.Policy{Retention: time.Hour}, a.trace, func(c *pgxpool.Config) {
		c.MaxConns = 2
		dial := c.ConnConfig.DialFunc
		c.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
			if down.Load() {
				select { // packets go nowhere
				case <-ctx.Done():
				case <-over:
				}
				return nil, errors.New("no answer")
			}
			return dial(ctx, network, address)
		}
	})
	var leases []*idem.Lease
	for i := range 8 {
		leases = append(leases, b.claim(store, b.key(fmt.Sprint("k", i))))
	}
	var busy []*pgxpool.Conn
	for range 2 {
		conn, err := store.Pool.Acquire(b.ctx)
		if err != nil {
			t.Fatal(err)
		}
		busy = append(busy, conn)
	}
	down.Store(true)
	back := make(chan error, len(leases))
	for _, lease := range leases {
		go func() { back <- lease.Complete(b.ctx, created()) }()
	}
	for range leases {
		select {
		case err := <-back:
			if !errors.Is(err, idem.ErrCommitUnknown) {
				t.Errorf("got %v, want ErrCommitUnknown", err)
			}
		case <-time.After(25 * time.Second):
			t.Fatal("a completion is stranded")
		}
	}
	down.Store(false)
	for _, conn := range busy {
		conn.Release()
	}
	for _, lease := range leases {
		if err := lease.Complete(b.ctx, created()); err != nil {
			t.Errorf("once it is over: %v", err)
		}
	}
}

// A heartbeat for several leases has its connection to itself: one whose dialling hangs ends in bounded time, and the others go on.
func TestHeartbeatForSeveralThatCannotDialGoesOnLater(t *testing.T) {
	t.Parallel()
	var down atomic.Bool
	over := make(chan struct{})
	defer close(over)
	a := new(airport)
	b := setup(t)
	store := b.coalescingProcess(idem.Policy{Retention: time.Hour, Lease: 600 * time.Millisecond}, a.trace, func(c *pgxpool.Config) {
		dial := c.ConnConfig.DialFunc
		c.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
			if down.Load() {
				select {
				case <-ctx.Done():
				case <-over:
				}
				return nil, errors.New("no answer")
			}
			return dial(ctx, network, address)
		}
	})
	for range 10 { // the pool's own connections are there
		storm(4, func(int) { _ = store.Pool.Ping(b.ctx) })
	}
	down.Store(true)
	const leases = 6
	finish := make([]chan struct{}, leases)
	var ended sync.WaitGroup
	for i := range leases {
		finish[i] = make(chan struct{})
		ended.Go(func() {
			_, err := store.Hold(b.ctx, b.key(fmt.Sprint("k", i)), func(context.Context, *idem.Lease) (*idem.Response, error) {
				<-finish[i]
				return created(), nil
			})
			if err != nil {
				t.Errorf("lease %d: %v", i, err)
			}
		})
	}
	b.eventually(func() bool {
		return b.count("SELECT count(*) FROM idem.keys WHERE locked_until < now()") == leases
	}, "the leases never lapsed")
	close(finish[0]) // whichever leads or waits
	down.Store(false)
	b.eventually(func() bool {
		return b.count("SELECT count(*) FROM idem.keys WHERE locked_until > now()") == leases-1
	}, "the leases were never extended again")
	for _, f := range slices.Backward(finish[1:]) {
		close(f)
	}
	ended.Wait()
}
