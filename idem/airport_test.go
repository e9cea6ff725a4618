package idem_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/idem"
)

// airport is a tracer that sees the transactions a pool sends, and can keep those of a kind on the ground while callers gather.
type airport struct {
	takesOff func(*pgx.Conn, flight) // if set, is called before a flight is sent
	lands    func(flight)            // and before whoever sent it knows its answer

	inTheAir atomic.Int64

	mu       sync.Mutex
	flown    []flight
	grounded map[string]chan struct{} // transactions with a statement of that name wait until the channel is closed
}

// flight is one batch: the names of its statements, the keys that a statement for several callers names, and who leads it.
type flight struct {
	statements []string
	keys       []string
	settings   []any // of a flight with others
	leader     string
}

// as names a caller, so that the flights that it leads are known.
func as(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, callerContext{}, name)
}

type callerContext struct{}

func (f flight) has(statement string) bool {
	for _, s := range f.statements {
		if s == statement {
			return true
		}
	}
	return false
}

// rows is for how many callers the flight is.
func (f flight) rows() int { return max(len(f.keys), 1) }

// trace makes a the tracer of a pool.
func (a *airport) trace(c *pgxpool.Config) { c.ConnConfig.Tracer = a }

func (a *airport) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return ctx
}
func (*airport) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData)     {}
func (*airport) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

func (a *airport) TraceBatchStart(ctx context.Context, conn *pgx.Conn, data pgx.TraceBatchStartData) context.Context {
	var f flight
	f.leader, _ = ctx.Value(callerContext{}).(string)
	for _, q := range data.Batch.QueuedQueries {
		name, named := strings.CutPrefix(q.SQL, "-- name: ")
		if !named {
			continue
		}
		name, _, _ = strings.Cut(name, " ")
		f.statements = append(f.statements, name)
		if name == "SettingsCoalesced" {
			f.settings = q.Arguments
		}
		texts := 0
		for _, arg := range q.Arguments {
			if list, ok := arg.([]string); ok {
				if texts++; texts == 3 { // tenants, endpoints, keys
					f.keys = list
				}
			}
		}
	}
	a.mu.Lock()
	a.flown = append(a.flown, f)
	var ground chan struct{}
	for _, s := range f.statements {
		if c := a.grounded[s]; c != nil {
			ground = c
		}
	}
	a.mu.Unlock()
	if ground != nil {
		<-ground
	}
	a.inTheAir.Add(1)
	if a.takesOff != nil {
		a.takesOff(conn, f)
	}
	return context.WithValue(ctx, flightContext{}, f)
}

func (a *airport) TraceBatchEnd(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchEndData) {
	a.inTheAir.Add(-1)
	if a.lands != nil {
		a.lands(ctx.Value(flightContext{}).(flight))
	}
}

type flightContext struct{}

// alone waits, in takesOff, until nobody else is in the air; not for ever, for another may be waiting for this one.
func (a *airport) alone() {
	for deadline := time.Now().Add(time.Second); a.inTheAir.Load() > 1 && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
}

// since returns the flights of a kind after the first n of all, and how many there are of all.
func (a *airport) since(n int, kinds ...string) (of []flight, all int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, f := range a.flown[n:] {
		for _, kind := range kinds {
			if f.has(kind) {
				of = append(of, f)
				break
			}
		}
	}
	return of, len(a.flown)
}

// The kinds of statements that callers share, alone and together.
var (
	claiming   = []string{"KeyClaim", "KeyClaimMany"}
	completing = []string{"KeyComplete", "KeyCompleteMany"}
	beating    = []string{"LeaseExtend", "LeaseExtendMany"}
)

// ground keeps flights of a kind from taking off, until they are let go.
func (a *airport) ground(kinds []string) (letGo func()) {
	closed := make(chan struct{})
	a.mu.Lock()
	a.grounded = make(map[string]chan struct{})
	for _, kind := range kinds {
		a.grounded[kind] = closed
	}
	a.mu.Unlock()
	var once sync.Once
	return func() {
		once.Do(func() {
			a.mu.Lock()
			a.grounded = nil
			a.mu.Unlock()
			close(closed)
		})
	}
}

// gathers has callers come at once while flights of a kind wait on the ground, lets them take off, waits for all callers to be back
// and returns the flights. decoys come first: whoever finds nobody flying leads, and goes alone.
func (a *airport) gathers(t *testing.T, kinds []string, decoys []func(), callers ...func()) []flight {
	t.Helper()
	return a.gathersWhile(t, func([]flight) {}, kinds, decoys, callers...)
}

// gathersWhile calls meanwhile before the flights take off.
func (a *airport) gathersWhile(t *testing.T, meanwhile func([]flight), kinds []string, decoys []func(), callers ...func()) []flight {
	t.Helper()
	_, before := a.since(0)
	letGo := a.ground(kinds)
	defer letGo()
	var back sync.WaitGroup
	for _, decoy := range decoys {
		back.Go(decoy)
	}
	onBoard := func() (n int) {
		flights, _ := a.since(before, kinds...)
		for _, f := range flights {
			n += f.rows()
		}
		return n
	}
	for deadline := time.Now().Add(time.Second); onBoard() < len(decoys) && time.Now().Before(deadline); {
		time.Sleep(100 * time.Microsecond)
	}
	for _, caller := range callers {
		back.Go(caller)
	}
	// Whoever needs a connection that somebody on the ground has cannot board: then time is up.
	for deadline := time.Now().Add(300 * time.Millisecond); onBoard() < len(decoys)+len(callers) && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	flights, _ := a.since(before, kinds...)
	meanwhile(flights)
	letGo()
	back.Wait()
	flights, _ = a.since(before, kinds...)
	return flights
}

// fullest is the flight of flights with most on board.
func fullest(flights []flight) (most flight) {
	for _, f := range flights {
		if f.rows() > most.rows() {
			most = f
		}
	}
	return most
}

// until tries until flight says that those who were to travel together did: a machine that is busy may keep one of them from
// coming in time. Every try is a test of its own, with keys of its own.
func (b *bundle) until(try func(n int) (together bool)) {
	b.t.Helper()
	for n, deadline := 0, time.Now().Add(time.Minute); !try(n); n++ {
		if b.t.Failed() {
			b.t.FailNow()
		}
		if time.Now().After(deadline) {
			b.t.Fatalf("in %d tries the callers never travelled together", n+1)
		}
	}
}

// coalescing is a store that coalesces, whatever the environment of the test says.
func (b *bundle) coalescing(p idem.Policy) *idem.Store {
	s := b.newStore(p)
	s.NoCoalescing = false
	return s
}

// coalescingProcess is process for a store that coalesces.
func (b *bundle) coalescingProcess(p idem.Policy, mutate ...func(*pgxpool.Config)) *idem.Store {
	b.t.Helper()
	s := b.process(p, mutate...)
	s.NoCoalescing = false
	return s
}
