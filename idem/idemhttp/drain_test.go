package idemhttp_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/idem/idemhttp"
)

// One of two processes is asked to go, by SIGTERM in a deploy (article 004's main cause of keys that nobody finishes), under 50
// requests a second, some of which take longer than it may. No request is lost: every client ends with its answer and one effect.
// And whoever was cut off has it soon after it asks the other process, though the lease would have run for half a minute.
func TestProcessThatIsAskedToGoLosesNoRequest(t *testing.T) {
	s := openShop(t)
	s.cards.refuses = true
	const grace, lease, soon = 300 * time.Millisecond, 30 * time.Second, 3 * time.Second // soon is a second, on a machine that is not busy
	t.Setenv(childGrace, grace.String())
	p := policy{Lease: lease, Wait: time.Second, Stale: idem.StaleRerun}
	goes, stays := s.startAPI(p), s.startAPI(p)
	ways := newPair(goes.url, stays.url)

	var clients []*client
	var sending sync.WaitGroup
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for n := range 200 { // for 4 s
		c := &client{pair: ways, id: fmt.Sprint(n), path: "/charges"}
		switch n / 2 % 10 { // the processes take turns
		case 0:
			c.pace = paceHeeds
		case 1, 5:
			c.pace = paceLate
		case 2:
			c.path = "/orders"
		case 3:
			c.pace = paceDeaf
		case 7:
			c.path, c.pace = "/orders", paceDeaf
		}
		clients = append(clients, c)
		sending.Go(c.run)
		if n == 100 {
			if err := goes.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
		}
		<-tick.C
	}
	if err := goes.Wait(); err != nil {
		t.Errorf("the process ended badly: %v", err)
	}
	sending.Wait()

	var cut, turnedAway int
	var slowest, slowestRetry time.Duration
	for _, c := range clients {
		if c.err != nil || c.answer.status != http.StatusCreated {
			t.Errorf("client %s (%s %s) ended with %d %s, %v, after %v", c.id, c.path, c.pace, c.answer.status, c.answer.body, c.err, c.tries)
			continue
		}
		at := slices.IndexFunc(c.tries, func(t try) bool { return t.to == 0 && t.status != http.StatusCreated })
		switch {
		case at < 0:
		case c.tries[at].problem:
			turnedAway++ // it never ran there
		default:
			cut++
			answered := c.tries[len(c.tries)-1].ended
			slowest, slowestRetry = max(slowest, answered.Sub(c.tries[at].ended)), max(slowestRetry, answered.Sub(c.tries[at+1].began))
		}
	}
	t.Logf("%d clients, %d turned away, %d cut off, of which the slowest had its answer %v after that, and %v after it asked again",
		len(clients), turnedAway, cut, slowest.Round(time.Millisecond), slowestRetry.Round(time.Millisecond))
	if cut == 0 {
		t.Error("nobody was cut off: nothing was tested")
	}
	if slowest > soon {
		t.Errorf("who was cut off had its answer after %v, want at most %v", slowest, soon)
	}
	s.wantOneEffectEach(clients)
}

// wantOneEffectEach looks at the processor, the orders and the keys.
func (s *shop) wantOneEffectEach(clients []*client) {
	s.Helper()
	var charges int
	for _, c := range clients {
		if c.path == "/charges" {
			charges++
		} else if n := s.count("SELECT count(*) FROM charges WHERE note = $1", c.id); n != 1 {
			s.Errorf("client %s has %d orders, want 1", c.id, n)
		}
		if state := s.stateOf(c.id); state != "committed" {
			s.Errorf("the key of client %s is %s", c.id, state)
		}
	}
	if n, keys := s.cards.charged(), len(s.cards.charges); n != charges || keys != charges {
		s.Errorf("%d charges under %d keys, want %d under as many", n, keys, charges)
	}
}

// pair is two processes behind one name.
type pair struct {
	hosts [2]string
	turn  atomic.Int64
	base  *http.Transport
}

func newPair(urls ...string) *pair {
	p := &pair{base: &http.Transport{DisableKeepAlives: true}} // so that net/http repeats none
	for i, url := range urls {
		p.hosts[i] = strings.TrimPrefix(url, "http://")
	}
	return p
}

// client sends one request until it is answered. It is the network of its own Transport, which sends each try to one process in
// turn, and to the other where the first takes no connection.
type client struct {
	*pair
	id, path, pace string
	answer         answer
	err            error
	tries          []try
}

// try is one request on its way to a process.
type try struct {
	to           int
	began, ended time.Time
	status       int  // 0: no answer
	problem      bool // the middleware's own
	err          error
}

func (t try) String() string {
	return fmt.Sprintf("%d: %d %v after %v", t.to, t.status, t.err, t.ended.Sub(t.began).Round(time.Millisecond))
}

func (c *client) run() {
	over := &http.Client{Transport: &idemhttp.Transport{Base: c}}
	c.answer, c.err = do(over, newRequest("http://api"+c.path, c.id, dollars))
}

func (c *client) RoundTrip(r *http.Request) (*http.Response, error) {
	to := int(c.turn.Add(1)) % len(c.hosts)
	for {
		one := r.Clone(r.Context())
		one.URL.Host = c.hosts[to]
		var err error
		if one.Body, err = r.GetBody(); err != nil {
			return nil, err
		}
		if len(c.tries) == 0 { // what was slow is not slow again
			one.Header.Set(pace, c.pace)
		}
		t := try{to: to, began: time.Now()}
		resp, err := c.base.RoundTrip(one)
		if errors.Is(err, syscall.ECONNREFUSED) && to == 0 { // nothing was sent
			to = 1
			continue
		}
		t.ended, t.err = time.Now(), err
		if err == nil {
			t.status, t.problem = resp.StatusCode, resp.Header.Get("Content-Type") == "application/problem+json"
		}
		c.tries = append(c.tries, t)
		return resp, err
	}
}
