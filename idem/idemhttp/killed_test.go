package idemhttp_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/pgidem/pgidem/idem"
)

// TestMain runs the tests, or is a process of the API that one of them has started.
func TestMain(m *testing.M) {
	if os.Getenv(childDatabase) == "" {
		os.Exit(m.Run())
	}
	serve := serveAPI
	if os.Getenv(childGrace) != "" {
		serve = serveUntilTerm
	}
	if err := serve(); err != nil {
		fmt.Fprintln(os.Stderr, "the API's process:", err)
		os.Exit(1)
	}
}

// A process is killed between the charge and the answer. Within the lease its key is busy, and says for how long at most; after
// it the retry is refused because the outcome is unknown (StaleRefuse), or runs again and asks the processor under the same
// downstream key (StaleRerun), which a processor that refuses repeated keys does not charge for.
func TestKeyOfAKilledProcessIsBusyThenUnknownOrRunAgain(t *testing.T) {
	s := openShop(t)
	for name, stale := range map[string]idem.StalePolicy{"refused": idem.StaleRefuse, "run-again": idem.StaleRerun} {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			s.cards.refuses = true
			charged, dead := s.newGate(), s.newGate()
			s.cards.after = func(call int) {
				if call == 1 {
					charged.open()
					dead.wait()
				}
			}
			p := policy{Lease: 90 * time.Second, Wait: -1, Stale: stale}
			victim, survivor := s.startAPI(p), s.startAPI(p)
			lost := make(chan error, 1)
			go func() {
				_, err := do(toCards, newRequest(victim.url+"/charges", name, dollars)) // on a connection of its own
				lost <- err
			}()
			s.await("the charge", charged)
			_ = victim.Process.Kill()
			if err := receive(s, "the client's end", lost); err == nil {
				t.Error("the killed process answered")
			}
			dead.open()
			retry := func() answer { return s.send(newRequest(survivor.url+"/charges", name, dollars)) }

			for _, aged := range []time.Duration{0, 80 * time.Second, 7 * time.Second} { // 90 s, 10 s, 3 s of the lease are left
				s.age(name, aged)
				left := s.remaining(name)
				busy := retry()
				s.wantProblem(busy, 409, "in-flight")
				s.wantRetryAfter(busy, left)
			}
			other := s.send(newRequest(survivor.url+"/charges", name, dollars9))
			s.wantProblem(other, 422, "key-reused")
			if calls := len(s.cards.seen()); calls != 1 {
				t.Errorf("%d calls while the lease ran, want 1", calls)
			}

			s.age(name, 3*time.Second) // it lapses
			first := retry()
			calls := s.cards.seen()
			if stale == idem.StaleRefuse {
				s.wantProblem(first, 409, "outcome-unknown")
				if len(calls) != 1 {
					t.Errorf("%d calls, want 1: nobody is to guess", len(calls))
				}
				return
			}
			s.wantFirst(first, 201)
			if len(calls) != 2 || calls[0] != calls[1] || s.cards.charged() != 1 {
				t.Errorf("%d charges after calls under %q, want 1 after two under one key", s.cards.charged(), calls)
			}
			s.wantReplay(retry(), first)
		})
	}
}
