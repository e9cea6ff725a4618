package main

import (
	"strings"
	"testing"
	"time"

	"github.com/pgidem/pgidem/internal/processor"
)

// killed pays by the client's program, kills the API between the processor's charge and its answer, and starts another one. The
// client knows nothing of all this: it comes again, under the key that it began with.
func killed(t *testing.T, flags ...string) (*shop, outcome) {
	t.Helper()
	s := open(t, flags...)
	s.become(processor.Behaviour{Lag: time.Hour}) // it charges, and its answer does not come
	ended := s.inBackground("charge", "4900")
	s.eventually("the processor charges", func() bool { return s.stats().Charges == 1 })
	s.killAPI()
	s.become(processor.Behaviour{})
	s.startAPI(flags...)
	paid := <-ended
	if paid.code != 0 {
		t.Fatalf("the client ends with %+v", paid)
	}
	return s, paid
}

// Within the lease the key is busy; after it the charge is asked for again, under the same downstream key.
func TestKilledAPIChargesOnce(t *testing.T) {
	s, paid := killed(t, "--lease=1s")
	if !strings.Contains(paid.stdout, `"id":"ch_1"`) {
		t.Errorf("the client has %q, want the charge that the killed process had made", paid.stdout)
	}
	s.wantCharges(1)
	if stats := s.stats(); stats.Keys != 1 || stats.Refused != 1 {
		t.Errorf("%+v, want a second call under the one key", stats)
	}
	if again := s.pays("--key", paid.key, "charge", "4900"); !again.replayed() || again.stdout != paid.stdout {
		t.Errorf("once more: %+v", again)
	}
}

// The same night without pgidem: look the key up, charge, save the key. This is what the example is for.
func TestKilledAPIChargesTwiceWithCheckThenAct(t *testing.T) {
	s, paid := killed(t, "--guard=check-then-act")
	if !strings.Contains(paid.stdout, `"id":"ch_2"`) {
		t.Errorf("the client has %q", paid.stdout)
	}
	if n := s.stats().Charges; n != 2 {
		t.Errorf("%d charges, want 2", n)
	}
	if again := s.pays("--key", paid.key, "charge", "4900"); !again.replayed() || again.stdout != paid.stdout { // when nothing goes wrong, it works
		t.Errorf("once more: %+v", again)
	}
}

// An order is in the database that holds the keys: a killed process leaves no trace, and the key is free at once.
func TestKilledAPILeavesNoHalfOrder(t *testing.T) {
	s := open(t, "--order-time=1h")
	ended := s.inBackground("order", "4900")
	const claimed = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle in transaction'"
	s.eventually("the order is being worked on", func() bool { return s.count(claimed) == 1 })
	s.killAPI()
	s.startAPI()
	if paid := <-ended; paid.code != 0 || paid.replayed() {
		t.Errorf("the client ends with %+v", paid)
	}
	if n := s.count("SELECT count(*) FROM shop.orders"); n != 1 {
		t.Errorf("%d orders, want 1", n)
	}
}
