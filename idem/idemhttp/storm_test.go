package idemhttp_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// tally is what the clients of one key were told.
type tally struct {
	first, replays, busy int
	bodies               []string // of first answers and replays, each once
	others               []string // anything else, which nobody is to be told
}

func tallyOf(answers []answer) (t tally) {
	for _, a := range answers {
		switch {
		case a.status == 201 && a.replayed():
			t.replays++
		case a.status == 201:
			t.first++
		case a.status == 409 && a.problem().Type == "in-flight" && a.header.Get("Retry-After") != "":
			t.busy++
			continue
		default:
			t.others = append(t.others, fmt.Sprint(a.status, " ", a.body))
			continue
		}
		if !slices.Contains(t.bodies, a.body) {
			t.bodies = append(t.bodies, a.body)
		}
	}
	return t
}

// oneFirst reports whether one client got the first answer, and every other one the same again or the advice to come back.
func (t tally) oneFirst() bool { return t.first == 1 && len(t.bodies) == 1 && len(t.others) == 0 }

func (t tally) String() string {
	return fmt.Sprintf("%d first answers, %d replays, %d sent away, bodies %q, and %q", t.first, t.replays, t.busy, t.bodies, t.others)
}

// storm sends n requests, the i-th as request says, each from a client with a connection of its own, all released at once when
// every connection stands.
func (s *shop) storm(n int, request func(i int) *http.Request) []answer {
	s.Helper()
	answers := make([]answer, n)
	var connected, done sync.WaitGroup
	release := make(chan struct{})
	connected.Add(n)
	for i := range n {
		done.Go(func() {
			client := &http.Client{Transport: new(http.Transport)}
			defer client.CloseIdleConnections()
			r := request(i)
			_, err := do(client, newGet("http://"+r.URL.Host+"/health"))
			connected.Done()
			if err != nil {
				s.Error(err)
				return
			}
			<-release
			if answers[i], err = do(client, r); err != nil {
				s.Error(err)
			}
		})
	}
	connected.Wait()
	close(release)
	done.Wait()
	return answers
}

// stormRoutes are the routes of the API, and how to count what was done: under a key, or where nobody can tell, in all.
var stormRoutes = []struct {
	mode, route string
	effects     func(s *shop, key string) int
}{
	{"lease", "/charges", func(s *shop, _ string) int { return s.cards.charged() }},
	{"atomic", "/orders", func(s *shop, key string) int { return s.count("SELECT count(*) FROM charges WHERE note = $1", key) }},
}

// C05: 64 clients at two processes of the API send one request under one key, all at once. One gets the first answer; every other
// one gets it again, marked, or is sent away to come back; the card is charged once.
func TestStormAtTwoProcessesHasOneFirstAnswer(t *testing.T) {
	s := openShop(t)
	for _, to := range stormRoutes {
		t.Run(to.mode, func(t *testing.T) {
			s := s.in(t)
			p := policy{Wait: 300 * time.Millisecond}
			apis := []*api{s.startAPI(p), s.startAPI(p)}
			for round := range 5 {
				key := fmt.Sprintf("%s-%d", to.mode, round)
				before := to.effects(s, key)
				got := tallyOf(s.storm(64, func(i int) *http.Request { return newRequest(apis[i%2].url+to.route, key, dollars) }))
				if !got.oneFirst() {
					t.Errorf("%v; want one first answer, and its like", got)
				}
				if n := to.effects(s, key) - before; n != 1 {
					t.Errorf("%d effects, want 1", n)
				}
			}
		})
	}
}

// The same while the processor takes longer than any duplicate waits: all 63 others are sent away, and get the answer when they
// come back.
func TestStormAtASlowProcessorSendsAllOthersAway(t *testing.T) {
	s := openShop(t)
	answered := s.newGate()
	s.cards.after = func(int) { answered.wait() }
	p := policy{Wait: 50 * time.Millisecond}
	apis := []*api{s.startAPI(p), s.startAPI(p)}
	request := func(i int) *http.Request { return newRequest(apis[i%2].url+"/charges", k1, dollars) }

	owner := s.later(request(0))
	s.eventually("the charge has been made", func() bool { return s.cards.charged() == 1 })
	if got := tallyOf(s.storm(63, request)); got.busy != 63 {
		t.Errorf("while the first ran: %v; want all 63 sent away", got)
	}
	answered.open()
	first := receive(s, "the first answer", owner)
	s.wantFirst(first, 201)
	if got := tallyOf(s.storm(64, request)); got.replays != 64 || !slices.Equal(got.bodies, []string{first.body}) {
		t.Errorf("after it: %v; want 64 replays of %q", got, first.body)
	}
	if calls := len(s.cards.seen()); calls != 1 {
		t.Errorf("%d calls at the processor, want 1", calls)
	}
}

// 32 keys at once, eight clients each at two processes: each key has one first answer and one effect, and no key has another's.
func TestStormOfManyKeysHasOneFirstAnswerEach(t *testing.T) {
	s := openShop(t)
	const keys, clients = 32, 8
	for _, to := range stormRoutes {
		t.Run(to.mode, func(t *testing.T) {
			s := s.in(t)
			p := policy{Wait: 300 * time.Millisecond}
			apis := []*api{s.startAPI(p), s.startAPI(p)}
			key := func(i int) string { return fmt.Sprintf("%s-many-%d", to.mode, i%keys) }
			answers := s.storm(keys*clients, func(i int) *http.Request {
				return newRequest(apis[i/keys%2].url+to.route, key(i), dollars)
			})
			all := make(map[string]bool)
			for k := range keys {
				var of []answer
				for i := k; i < len(answers); i += keys {
					of = append(of, answers[i])
				}
				got := tallyOf(of)
				if !got.oneFirst() {
					t.Errorf("key %d: %v; want one first answer, and its like", k, got)
				}
				all[strings.Join(got.bodies, "|")] = true
				if n := to.effects(s, key(k)); to.mode == "atomic" && n != 1 {
					t.Errorf("key %d: %d effects, want 1", k, n)
				}
			}
			if len(all) != keys {
				t.Errorf("%d different answers for %d keys", len(all), keys)
			}
			if n := s.cards.charged(); to.mode == "lease" && n != keys {
				t.Errorf("%d charges for %d keys", n, keys)
			}
		})
	}
}
