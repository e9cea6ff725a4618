package engine

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// port is a coalescer of numbers that remembers its flights; each waits to be let go where the test says so.
type port struct {
	Coalescer[int]
	mu    sync.Mutex
	flown [][]int
}

func (p *port) note(items []int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	items = slices.Clone(items)
	slices.Sort(items) // they come in any order
	p.flown = append(p.flown, items)
}

// hold is a send that notes its flight and ends with the channel.
func (p *port) hold(until <-chan struct{}) func([]int) {
	return func(items []int) {
		p.note(items)
		<-until
	}
}

func (p *port) want(t *testing.T, flights ...[]int) {
	t.Helper()
	synctest.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	if !slices.EqualFunc(p.flown, flights, slices.Equal[[]int]) {
		t.Fatalf("flights %v, want %v", p.flown, flights)
	}
}

// go1 brings item in a goroutine of its own and returns once it waits or flies.
func (p *port) go1(ctx context.Context, item int, send func([]int)) (result <-chan error) {
	done := make(chan error, 1)
	go func() { done <- p.Do(ctx, item, send) }()
	synctest.Wait()
	return done
}

func TestLoneCallerFliesAloneAtOnceAndSetsNoTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p port
		began := time.Now()
		for i := range 3 {
			if err := p.Do(t.Context(), i, p.note); err != nil {
				t.Error(err)
			}
		}
		p.want(t, []int{0}, []int{1}, []int{2})
		if took := time.Since(began); took != 0 || p.slow != nil {
			t.Errorf("it waited for %s; a timer was made: %v", took, p.slow != nil)
		}
	})
}

func TestCallersWhoComeDuringAFlightTravelTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p port
		first, second := make(chan struct{}), make(chan struct{})
		done := []<-chan error{p.go1(t.Context(), 0, p.hold(first))}
		for i := 1; i <= 5; i++ {
			done = append(done, p.go1(t.Context(), i, p.hold(second)))
		}
		p.want(t, []int{0})
		close(first)
		p.want(t, []int{0}, []int{1, 2, 3, 4, 5})
		select {
		case <-done[3]:
			t.Error("a passenger was back before the flight")
		default:
		}
		close(second)
		for i, d := range done {
			if err := <-d; err != nil {
				t.Errorf("caller %d: %v", i, err)
			}
		}
	})
}

func TestAsManyFlightsAsAllowedAreUnderWayAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := port{Coalescer: Coalescer[int]{Flights: 2}}
		end := make(chan struct{})
		for i := range 4 {
			p.go1(t.Context(), i, p.hold(end))
		}
		p.want(t, []int{0}, []int{1})
		close(end)
		p.want(t, []int{0}, []int{1}, []int{2, 3})
	})
}

func TestSlowFlightKeepsNobodyOnTheGround(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p port
		rival := make(chan struct{}) // for whom the first waits
		defer close(rival)
		p.go1(t.Context(), 0, p.hold(rival))
		began := time.Now()
		early, late := p.go1(t.Context(), 1, p.note), p.go1(t.Context(), 2, p.note)
		if err := errors.Join(<-early, <-late); err != nil {
			t.Error(err)
		}
		p.want(t, []int{0}, []int{1, 2})
		if waited := time.Since(began); waited != slowFlight {
			t.Errorf("they waited for %s, want %s", waited, slowFlight)
		}
		if err := p.Do(t.Context(), 3, p.note); err != nil || time.Since(began) != slowFlight {
			t.Errorf("who comes later waits too: %v", err)
		}
	})
}

func TestFlightHasSeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p port
		first, rest := make(chan struct{}), make(chan struct{})
		p.go1(t.Context(), 0, p.hold(first))
		for i := range seats + 1 {
			p.go1(t.Context(), i, p.hold(rest))
		}
		close(first)
		close(rest)
		synctest.Wait()
		if len(p.flown) != 3 || len(p.flown[1]) != seats || len(p.flown[2]) != 1 {
			t.Errorf("%d flights; want one of 1, one of %d, one of 1", len(p.flown), seats)
		}
	})
}

func TestWhoGivesUpWhileWaitingIsNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p port
		gone, first := errors.New("gone"), make(chan struct{})
		ctx, cancel := context.WithCancelCause(t.Context())
		p.go1(t.Context(), 0, p.hold(first))
		leaver, stayer := p.go1(ctx, 1, p.note), p.go1(t.Context(), 2, p.note)
		cancel(gone)
		if err := <-leaver; !errors.Is(err, gone) {
			t.Errorf("error %v, want the cause", err)
		}
		close(first)
		if err := <-stayer; err != nil {
			t.Error(err)
		}
		p.want(t, []int{0}, []int{2})
	})
}

func TestWhoGivesUpBeforeComingIsNotSent(t *testing.T) {
	var p port
	gone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(gone)
	if err := p.Do(ctx, 1, p.note); !errors.Is(err, gone) || len(p.flown) != 0 {
		t.Errorf("error %v, %d flights; want the cause, and none", err, len(p.flown))
	}
}

// Or send would write into an item whose owner has gone on.
func TestPassengerWhoGivesUpStaysUntilTheFlightHasLanded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p port
		first, second := make(chan struct{}), make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		p.go1(t.Context(), 0, p.hold(first))
		leader := p.go1(t.Context(), 1, p.hold(second))
		passenger, other := p.go1(ctx, 2, p.note), p.go1(t.Context(), 3, p.note)
		close(first)
		p.want(t, []int{0}, []int{1, 2, 3})
		cancel()
		synctest.Wait()
		select {
		case err := <-passenger:
			t.Errorf("it left during the flight: %v", err)
		default:
		}
		close(second)
		if err := errors.Join(<-leader, <-passenger, <-other); err != nil {
			t.Error(err)
		}
	})
}

func TestLeaderWhoGivesUpFliesAllTheSame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p port
		first, second := make(chan struct{}), make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		p.go1(t.Context(), 0, p.hold(first))
		leader, passenger := p.go1(ctx, 1, p.hold(second)), p.go1(t.Context(), 2, p.note)
		close(first)
		p.want(t, []int{0}, []int{1, 2})
		cancel()
		close(second)
		if err := errors.Join(<-leader, <-passenger); err != nil {
			t.Error(err)
		}
	})
}

func TestSendThatPanicsStrandsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p port
		first := make(chan struct{})
		p.go1(t.Context(), 0, p.hold(first))
		fell := make(chan any, 1)
		go func() {
			defer func() { fell <- recover() }()
			_ = p.Do(t.Context(), 1, func([]int) { panic("boom") })
		}()
		synctest.Wait()
		passenger := p.go1(t.Context(), 2, p.note)
		close(first)
		if got := <-fell; got != "boom" {
			t.Errorf("recovered %v", got)
		}
		if err := <-passenger; err != nil {
			t.Error(err)
		}
		if err := p.Do(t.Context(), 3, p.note); err != nil {
			t.Error(err)
		}
		p.want(t, []int{0}, []int{3})
	})
}

func TestEveryItemTravelsExactlyOnce(t *testing.T) {
	p := port{Coalescer: Coalescer[int]{Flights: 2}}
	var callers sync.WaitGroup
	for i := range 64 {
		callers.Go(func() {
			for n := range 200 {
				if err := p.Do(t.Context(), i*200+n, p.note); err != nil {
					t.Error(err)
				}
			}
		})
	}
	callers.Wait()
	var all []int
	for _, f := range p.flown {
		all = append(all, f...)
	}
	slices.Sort(all)
	for i, item := range all {
		if i != item {
			t.Fatalf("item %d at %d of %d", item, i, len(all))
		}
	}
	if len(all) != 64*200 || len(p.flying)+len(p.waiting) != 0 {
		t.Errorf("%d items travelled; %d under way, %d waiting", len(all), len(p.flying), len(p.waiting))
	}
}
