package idemhttp_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/idem/idemhttp"
	"github.com/pgidem/pgidem/internal/testdb"
)

// disconnecting is a shop whose API is served by two processes: here, whose statements are traced, and there.
type disconnecting struct {
	*shop
	cutter      *cutter
	here, there *site
}

// orderBy is takeOrder in either mode, under m.
func orderBy(m *idemhttp.Middleware, mode string) http.Handler {
	if mode == atomicMode.name {
		return m.HandlerTx(takeOrder)
	}
	return m.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		lease, _ := idemhttp.LeaseFrom(r.Context())
		_ = lease.DownstreamKey("charge") // from here on the outcome is unknown unless it is recorded
		err := pgx.BeginFunc(r.Context(), m.Store.Pool, func(tx pgx.Tx) error { return takeOrder(w, r, tx) })
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	}))
}

func (s *shop) disconnecting(mode string) *disconnecting {
	s.Helper()
	d := &disconnecting{shop: s, cutter: new(cutter)}
	here := *s.m
	here.Store = &idem.Store{NoCoalescing: testdb.NoCoalescing(), Pool: testdb.Pool(s.T, s.pool.Config().ConnString(), func(c *pgxpool.Config) { c.ConnConfig.Tracer = d.cutter })}
	s.Cleanup(here.Store.Close)
	d.here, d.there = s.open(orderBy(&here, mode)), s.open(orderBy(s.process(idem.Policy{}, 4), mode))
	return d
}

// head is the beginning of a request for an order, up to and without the blank line.
func head(key string, length int) string {
	return fmt.Sprintf("POST /charges HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nIdempotency-Key: %s\r\nContent-Length: %d\r\n", key, length)
}

// settle is the retry: it comes back, for 20 s, until it is told what became of the order. Nothing but "in flight" may keep it
// from that.
func (d *disconnecting) settle(o *site, key string) answer {
	for end := time.Now().Add(20 * time.Second); ; {
		a := <-d.later(newRequest(o.charges(), key, dollars))
		if a.problem().Type != "in-flight" || time.Now().After(end) {
			return a
		}
	}
}

// wantOneOrder fails unless there is one order under the key, and a tells of it.
func (d *disconnecting) wantOneOrder(a answer, key, when string) {
	d.Helper()
	var id, n int
	err := d.pool.QueryRow(context.Background(), "SELECT coalesce(min(id), 0), count(*) FROM charges WHERE note = $1", key).Scan(&id, &n)
	if err != nil || n != 1 || a.status != 201 || a.body != fmt.Sprintf(`{"order":%d}`, id) {
		d.Errorf("cut %s: %d orders, the retry got %d %s; want one order, %d, and to be told of it (%v)", when, n, a.status, a.body, id, err)
	}
}

// A client that hangs up before and after any statement of its request leaves at most one charge, in both modes: its retry gets
// the recorded answer, or the first one where nothing was recorded because nothing ran or all was rolled back. Never is it told
// that the outcome is unknown. The retry comes when the first request has ended, or at once, to the same process or another one.
func TestClientThatHangsUpAtAnyStatement(t *testing.T) {
	s := openShop(t)
	for _, mode := range modes {
		for _, retry := range []string{"after-the-end", "at-once-here", "at-once-there"} {
			t.Run(mode.name+"/"+retry, func(t *testing.T) {
				d := s.in(t).disconnecting(mode.name)
				recorded, ran := 0, 0
				for n := 1; ; n++ {
					key := fmt.Sprintf("%s-%s-%d", mode.name, retry, n)
					first, second := d.here.expect(), new(visit)
					client, retried := d.dial(d.here), make(chan answer, 1)
					to := d.here
					if retry == "at-once-there" {
						to = d.there
					}
					d.cutter.arm(n, func() {
						client.cut()
						<-(<-first.arrived).Done() // the server has noticed
						if retry != "after-the-end" {
							second = to.expect()
							go func() { retried <- d.settle(to, key) }()
							<-second.arrived
						}
					})
					d.say(client, head(key, len(dollars)), "\r\n", dollars)
					receive(d.shop, "the end of the request", first.ended)
					moments := d.cutter.disarm()
					if len(moments) < n {
						if n < 8 || recorded == 0 || ran == 0 {
							t.Errorf("%d moments, of which %d led to a replay and %d to a first answer; want some of both: %q", n-1, recorded, ran, moments)
						}
						return
					}
					when := fmt.Sprintf("at moment %d, %s", n, moments[n-1])
					if retry == "after-the-end" {
						state := d.stateOf(key)
						if state == "in_flight" {
							t.Errorf("cut %s: the key is in flight when the request has ended", when)
						}
						a := d.settle(to, key)
						if a.replayed() != (state == "committed") {
							t.Errorf("cut %s: replayed %v, but the key was %q", when, a.replayed(), state)
						}
						retried <- a
					}
					a := receive(d.shop, "the retry's answer", retried)
					d.wantOneOrder(a, key, when)
					if a.replayed() {
						recorded++
					} else {
						ran++
					}
				}
			})
		}
	}
}

// A client that hangs up before its request is whole has asked for nothing: no key is stored and nothing runs, not even where
// what came would do as a request.
func TestClientThatHangsUpBeforeItsRequestIsWhole(t *testing.T) {
	s := openShop(t)
	for _, mode := range modes {
		d := s.disconnecting(mode.name)
		chunked := strings.Replace(head("KEY", 0), "Content-Length: 0", "Transfer-Encoding: chunked", 1) + "\r\n"
		sent := map[string]string{
			"after-the-headers":         head("KEY", len(dollars)) + "\r\n",
			"half-way-through-the-body": head("KEY", len(dollars)) + "\r\n" + dollars[:len(dollars)/2],
			"before-the-last-byte":      head("KEY", len(dollars)+1) + "\r\n" + dollars,
			"before-the-first-chunk":    chunked,
			"within-a-chunk":            chunked + strconv.FormatInt(int64(len(dollars)), 16) + "\r\n" + dollars[:5],
			"before-the-last-chunk":     chunked + strconv.FormatInt(int64(len(dollars)), 16) + "\r\n" + dollars + "\r\n",
		}
		for how, hangUp := range map[string]func(line){"cut": line.cut, "closed": func(l line) { _ = l.Close() }} {
			for where, text := range sent {
				t.Run(mode.name+"/"+how+"-"+where, func(t *testing.T) {
					key := mode.name + "-" + how + "-" + where
					first := d.here.expect()
					client := d.dial(d.here)
					d.say(client, strings.Replace(text, "KEY", key, 1))
					receive(d.shop, "the request", first.arrived)
					hangUp(client)
					receive(d.shop, "the end of the request", first.ended)
					if state := d.stateOf(key); state != "" {
						t.Errorf("the key is %q, want none", state)
					}
					a := d.settle(d.here, key)
					d.wantFirst(a, 201)
					d.wantOneOrder(a, key, where)
				})
			}
		}
	}
}

// A client that hangs up in the middle of its answer gets all of it when it comes back. One that was streamed was not kept, and
// the retry is told so, and of the first status; it is not run again.
func TestClientThatHangsUpInTheMiddleOfItsAnswer(t *testing.T) {
	s := openShop(t)
	const size = 512 << 10
	for _, streamed := range []bool{false, true} {
		for _, mode := range modes {
			if streamed && mode.name == atomicMode.name {
				continue // nothing is streamed there
			}
			name := fmt.Sprintf("%s-streamed-%v", mode.name, streamed)
			t.Run(name, func(t *testing.T) {
				s := s.in(t)
				before := s.charges()
				gone := s.newGate()
				site := s.open(mode.handle(s.bundle, s.m, func(w http.ResponseWriter, r *http.Request, charge func()) {
					charge()
					w.WriteHeader(http.StatusCreated)
					_, _ = io.WriteString(w, strings.Repeat("a", size/2))
					if streamed {
						_ = http.NewResponseController(w).Flush() // the client may have gone already
						gone.wait()
					}
					_, _ = io.WriteString(w, strings.Repeat("b", size/2))
				}))
				visit := site.expect()
				client := s.dial(site)
				s.say(client, head(name, len(dollars)), "\r\n", dollars)
				answer := bufio.NewReader(client)
				if status, err := answer.ReadString('\n'); err != nil || status != "HTTP/1.1 201 Created\r\n" {
					t.Fatalf("%q, %v", status, err)
				}
				if _, err := io.CopyN(io.Discard, answer, size/4); err != nil {
					t.Fatal(err)
				}
				client.cut()
				gone.open()
				receive(s, "the end of the request", visit.ended)

				again := s.send(newRequest(site.charges(), name, dollars))
				if streamed {
					s.wantProblem(again, 409, "response-not-kept")
					if p := again.problem(); p.ResponseStatus != 201 {
						t.Errorf("the first status is told as %d, want 201", p.ResponseStatus)
					}
				} else if !again.replayed() || again.status != 201 || again.body != strings.Repeat("a", size/2)+strings.Repeat("b", size/2) {
					t.Errorf("the retry got %d and %d bytes, replayed %v; want all %d bytes of the first answer", again.status, len(again.body), again.replayed(), size)
				}
				if n := s.charges() - before; n != 1 {
					t.Errorf("%d charges, want 1", n)
				}
			})
		}
	}
}

// A duplicate that hangs up while it waits leaves the request that it waits for alone, and is nothing to log.
func TestDuplicateThatHangsUpWhileItWaits(t *testing.T) {
	s := openShop(t)
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			s := s.in(t)
			begun, finish := s.newGate(), s.newGate()
			site := s.open(mode.handle(s.bundle, s.m, func(w http.ResponseWriter, r *http.Request, charge func()) {
				begun.open()
				finish.wait()
				created(w, r, charge)
			}))
			before := s.charges()
			answered := s.later(newRequest(site.charges(), mode.name, dollars))
			s.await("the first runs", begun)
			duplicate := site.expect()
			client := s.dial(site)
			s.say(client, head(mode.name, len(dollars)), "\r\n", dollars)
			seen := receive(s, "the duplicate", duplicate.arrived)
			client.cut()
			receive(s, "the server notices", seen.Done())
			receive(s, "the end of the duplicate", duplicate.ended)
			finish.open()
			first := receive(s, "the first answer", answered)
			s.wantFirst(first, 201)
			s.wantReplay(s.send(newRequest(site.charges(), mode.name, dollars)), first)
			if n := s.charges() - before; n != 1 {
				t.Errorf("%d charges, want 1", n)
			}
			if text := s.log.String(); strings.Contains(text, "level=ERROR") {
				t.Errorf("a client that hangs up is no fault of the server's:\n%s", text)
			}
		})
	}
}
