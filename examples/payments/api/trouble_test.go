package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/pgidem/pgidem/idem/idemhttp"
	"github.com/pgidem/pgidem/internal/processor"
)

// Article 004: a 503 of the processor is no outcome. The key is given back, and the next try charges.
func TestUnavailableProcessorGivesTheKeyBack(t *testing.T) {
	s := open(t)
	s.become(processor.Behaviour{Unavailable: 1})
	key := idemhttp.NewKey()
	first := s.post(acme, key, "/charges", charge49)
	if first.status != http.StatusServiceUnavailable || first.header.Get("Retry-After") == "" || s.status(key) != "released" {
		t.Errorf("%d %v %s, the key is %q", first.status, first.header, first.body, s.status(key))
	}
	second := s.post(acme, key, "/charges", charge49)
	if second.status != http.StatusCreated || second.replayed() {
		t.Errorf("the retry: %d %v %s", second.status, second.header, second.body)
	}
	if paid := s.pays("charge", "900000"); paid.replayed() { // the client does both by itself
		t.Errorf("%+v", paid)
	}
	s.wantCharges(2)
	if stats := s.stats(); stats.Unavailable != 2 || stats.Requests != 4 || stats.Keys != 2 {
		t.Errorf("%+v", stats)
	}
}

// The connection is cut after the money was taken. The retry asks again under the same downstream key, and gets the one charge,
// from a processor that answers a repeat as it did at first, and from one that only says that it is one.
func TestDroppedConnectionIsChargedOnce(t *testing.T) {
	s := open(t)
	for i, repeat := range []processor.Repeat{processor.RepeatReplay, processor.RepeatError} {
		s.become(processor.Behaviour{Drop: 1, Repeat: repeat})
		key := idemhttp.NewKey()
		cut := s.post(acme, key, "/charges", charge49)
		if cut.status != http.StatusBadGateway || s.status(key) != "in_flight" {
			t.Errorf("%d %v %s, the key is %q", cut.status, cut.header, cut.body, s.status(key))
		}
		first := s.pays("--key", key, "charge", "4900")
		if first.replayed() || !strings.Contains(first.stdout, `"status":"succeeded"`) {
			t.Errorf("the retry: %+v", first)
		}
		if again := s.pays("--key", key, "charge", "4900"); !again.replayed() || again.stdout != first.stdout {
			t.Errorf("once more: %+v", again)
		}
		s.wantCharges(int64(i) + 1)
	}
	if stats := s.stats(); stats.Keys != 2 || stats.Dropped != 2 || stats.Refused != 2 {
		t.Errorf("%+v, want two keys, each dropped and repeated once", stats)
	}
	s.become(processor.Behaviour{Drop: 1})
	if paid := s.pays("charge", "900000"); paid.replayed() { // the client does both by itself
		t.Errorf("%+v", paid)
	}
	s.wantCharges(3)
}

// A 503 to the second try says nothing of the first, which had been dropped: the key is not given back.
func TestUnavailableAfterADropStaysUnknown(t *testing.T) {
	s := open(t)
	key := idemhttp.NewKey()
	for _, behaviour := range []processor.Behaviour{{Drop: 1}, {Unavailable: 2}} {
		s.become(behaviour)
		if a := s.post(acme, key, "/charges", charge49); a.status/100 != 5 || s.status(key) != "in_flight" || strings.Contains(a.body, "nothing was") {
			t.Errorf("%+v: %d %s, the key is %q", behaviour, a.status, a.body, s.status(key))
		}
	}
	s.pays("--key", key, "charge", "4900")
	s.wantCharges(1)
}

// The processor says that the charge was made, and then not what: that is no refusal to be recorded.
func TestChargeThatTheProcessorDoesNotShowStaysUnknown(t *testing.T) {
	s := open(t)
	for i, asked := range []processor.Asked{processor.AskedNothing, processor.AskedRefuse} {
		s.become(processor.Behaviour{Drop: 1, Repeat: processor.RepeatError, Asked: asked})
		key := idemhttp.NewKey()
		for range 2 {
			if a := s.post(acme, key, "/charges", charge49); a.status != http.StatusBadGateway || s.status(key) != "in_flight" {
				t.Errorf("%v: %d %s, the key is %q", asked, a.status, a.body, s.status(key))
			}
		}
		s.become(processor.Behaviour{Repeat: processor.RepeatError})
		s.pays("--key", key, "charge", "4900")
		s.wantCharges(int64(i) + 1)
	}
}

// Article 004's night: the processor takes longer than the client waits. The client comes back under its key, finds the first
// try at work, and ends with its answer.
func TestProcessorSlowerThanTheClientChargesOnce(t *testing.T) {
	s := open(t)
	s.become(processor.Behaviour{Hold: true})
	ended := s.inBackground("--try-timeout=500ms", "charge", "4900")
	s.eventually("the client comes back", func() bool { return s.front.arrived.Load() >= 2 })
	s.become(processor.Behaviour{}) // what is held lands
	if paid := <-ended; paid.code != 0 || !paid.replayed() {
		t.Errorf("%+v, want the first try's answer by a later one", paid)
	}
	s.wantCharges(1)
	if n := s.stats().Requests; n != 1 {
		t.Errorf("%d calls of the processor, want 1", n)
	}
}

// The money is taken and the books take no row, neither at once nor at COMMIT, when the lease had been completed in the same
// transaction. A 500 would end the client's tries with a charge that nobody has booked.
func TestChargeThatTheBooksRefuseIsBookedByTheRetry(t *testing.T) {
	s := open(t)
	exec := func(sql string) {
		t.Helper()
		if _, err := s.pool.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	exec("CREATE FUNCTION shop.refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''closed''; END'")
	for i, when := range []string{"NOT DEFERRABLE", "DEFERRABLE INITIALLY DEFERRED"} {
		exec("CREATE CONSTRAINT TRIGGER closed AFTER INSERT ON shop.charges " + when + " FOR EACH ROW EXECUTE FUNCTION shop.refuse()")
		key := idemhttp.NewKey()
		lost := s.post(acme, key, "/charges", charge49)
		if lost.status != http.StatusServiceUnavailable || lost.header.Get("Retry-After") == "" || s.status(key) != "in_flight" {
			t.Errorf("%s: %d %v %s, the key is %q", when, lost.status, lost.header, lost.body, s.status(key))
		}
		exec("DROP TRIGGER closed ON shop.charges")
		s.pays("--key", key, "charge", "4900")
		s.wantCharges(int64(i) + 1)
	}
}

// Policy.Stale is for the processor that one has: with --stale=refuse nothing is sent again.
func TestRefuseLeavesADroppedChargeToAnOperator(t *testing.T) {
	s := open(t, "--stale=refuse")
	s.become(processor.Behaviour{Drop: 1, Repeat: processor.RepeatCharge})
	o := s.client("charge", "4900")
	if o.code != 1 || !strings.Contains(o.stderr, "409 ") || !strings.Contains(o.stdout, idemhttp.ProblemBase+"outcome-unknown") {
		t.Errorf("%+v", o)
	}
	if stats := s.stats(); stats.Charges != 1 || stats.Requests != 1 {
		t.Errorf("%+v, want one call and one charge", stats)
	}
}
