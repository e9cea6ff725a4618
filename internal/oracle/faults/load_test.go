package faults_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pgidem/pgidem/idem"
)

const rate = 50 // requests a second

// createCharges makes the table of what atomic mode does: it has no unique index, so that a second effect is seen and not refused.
const createCharges = "CREATE TABLE charges (id bigint GENERATED ALWAYS AS IDENTITY, tenant text NOT NULL, key text NOT NULL)"

// load is 50 requests a second, come what may, and their clients.
type load struct {
	*stage
	stopping chan struct{}
	end      func()        // closes it
	sent     chan struct{} // closed when no request begins any more
	clients  sync.WaitGroup

	mu      sync.Mutex
	ids     []string // of all keys
	tries   []try
	answers map[string][]string // bodies, by key
}

// try is one call of one client.
type try struct {
	request, number int // from 0
	began, ended    time.Time
	kind            string // "" for an answer
}

func (s *stage) startLoad() *load {
	l := &load{stage: s, stopping: make(chan struct{}), sent: make(chan struct{}), answers: make(map[string][]string)}
	l.end = sync.OnceFunc(func() { close(l.stopping) })
	s.Cleanup(func() { // of a test that failed before stop
		l.end()
		<-l.sent
		l.clients.Wait()
	})
	go l.send()
	return l
}

// send begins the requests: each key is sent twice, to one process and 20 ms later to the other.
func (l *load) send() {
	defer close(l.sent)
	began := time.Now()
	for n := 0; ; n++ {
		id := fmt.Sprintf("%s %d", []string{"do", "hold"}[n/2%2], n/2)
		if n%2 == 0 {
			l.ids = append(l.ids, id)
		}
		l.clients.Go(func() { l.client(n, id) })
		select {
		case <-time.After(time.Until(began.Add(time.Duration(n+1) * time.Second / rate))): // late ones follow at once
		case <-l.stopping:
			return
		}
	}
}

// stop returns when every client has ended.
func (l *load) stop() {
	l.Helper()
	l.end()
	<-l.sent
	ended := make(chan struct{})
	go func() {
		l.clients.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		l.Fatal("clients got no answer within a minute of the last request")
	}
}

// client asks one process until it has an answer. Of one key in five both give up at the first error.
func (l *load) client(n int, id string) {
	for number := 0; ; number++ {
		t := try{request: n, number: number, began: time.Now()}
		err := l.call(l.processes[n%len(l.processes)].store, id)
		t.ended, t.kind = time.Now(), l.kind(err)
		l.mu.Lock()
		l.tries = append(l.tries, t)
		l.mu.Unlock()
		if err == nil || n/2%5 == 2 || l.Failed() {
			return
		}
		longest := min(50*time.Millisecond<<number, time.Second)
		after, _ := idem.RetryAfter(err)
		time.Sleep(max(rand.N(longest), after))
	}
}

func (l *load) key(id string) idem.Key {
	return idem.Key{Tenant: l.Name(), Endpoint: "POST /charges", ID: id, Fingerprint: idem.FingerprintOf([]byte("$49.00"))}
}

// call asks once, and writes the answer down.
func (l *load) call(store *idem.Store, id string) error {
	ctx := context.WithoutCancel(l.Context()) // a failed test does not make its clients hang up
	var resp *idem.Response
	var err error
	if strings.HasPrefix(id, "do") {
		resp, err = store.Do(ctx, l.key(id), l.insert(id))
	} else {
		resp, err = store.Hold(ctx, l.key(id), func(_ context.Context, lease *idem.Lease) (*idem.Response, error) {
			return l.cards.charge(lease.DownstreamKey(charge)), nil
		})
	}
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.Contains(l.answers[id], string(resp.Body)) {
		l.answers[id] = append(l.answers[id], string(resp.Body))
	}
	return nil
}

// errWork is what the work of atomic mode meets when the database goes away under it.
var errWork = errors.New("the work's own statement failed")

// insert is the work of atomic mode: it takes 10 to 50 ms, so that there are backends at work.
func (l *load) insert(id string) idem.TxWork {
	return func(ctx context.Context, tx pgx.Tx) (*idem.Response, error) {
		var n int
		err := tx.QueryRow(ctx, "INSERT INTO charges (tenant, key) VALUES ($1, $2) RETURNING id", l.Name(), id).Scan(&n)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errWork, err)
		}
		time.Sleep(10*time.Millisecond + rand.N(40*time.Millisecond))
		return charged(n), nil
	}
}

// inFlight is what a duplicate gets whose twin takes longer than Policy.Wait.
const inFlight = "in flight"

// kind is a name for err, "" for none. One that no fault explains fails the test.
func (l *load) kind(err error) string {
	for _, k := range []struct {
		err  error
		name string
	}{
		{errWork, "work failed"}, {idem.ErrInFlight, inFlight}, {idem.ErrContended, "contended"},
		{idem.ErrOutcomeUnknown, "outcome unknown"}, {idem.ErrCommitUnknown, "commit unknown"}, {idem.ErrLeaseLost, "lease lost"},
		{idem.ErrUnavailable, "unavailable"},
	} {
		if errors.Is(err, k.err) {
			return k.name
		}
	}
	if err != nil {
		l.Errorf("an error that no fault explains: %v", err)
		return "other"
	}
	return ""
}
