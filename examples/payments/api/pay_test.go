package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/pgidem/pgidem/idem/idemhttp"
	"github.com/pgidem/pgidem/internal/processor"
)

func TestOrderChargeAndRefundByTheClient(t *testing.T) {
	s := open(t)
	var order struct{ ID, AmountCents json.Number }
	if o := s.pays("order", "4900"); json.Unmarshal([]byte(o.stdout), &order) != nil || order.ID == "" {
		t.Errorf("the order is answered %q", o.stdout)
	}
	charge := s.pays("charge", "4900")
	if want := `{"id":"ch_1","amount_cents":4900,"currency":"usd","status":"succeeded"}` + "\n"; charge.stdout != want {
		t.Errorf("the charge is answered %q, want %q", charge.stdout, want)
	}
	refund := s.pays("refund", "ch_1", "4900")
	if !strings.HasPrefix(refund.stdout, `{"id":"re_`) || !strings.Contains(refund.stdout, `"charge":"ch_1"`) {
		t.Errorf("the refund is answered %q", refund.stdout)
	}
	s.wantCharges(1)
	if n := s.count("SELECT count(*) FROM shop.charges WHERE refund_of = 'ch_1'"); n != 1 || s.stats().Refunds != 1 {
		t.Errorf("the books have %d refunds, the processor %d", n, s.stats().Refunds)
	}
	if n := s.count("SELECT count(*) FROM shop.orders"); n != 1 {
		t.Errorf("%d orders", n)
	}
	for _, o := range []outcome{charge, refund} {
		if o.replayed() {
			t.Errorf("a first answer says that it is none: %s", o.stderr)
		}
	}
}

func TestSamePaymentUnderItsKeyIsReplayed(t *testing.T) {
	s := open(t)
	s.pays("charge", "100") // for the refund
	for _, payment := range []string{"order 4900", "charge 4900", "refund ch_1 4900"} {
		words := strings.Fields(payment)
		first := s.pays(words...)
		again := s.pays(append([]string{"--key", first.key}, words...)...)
		if !again.replayed() || again.stdout != first.stdout || again.key != first.key {
			t.Errorf("%s: %+v, then %+v", payment, first, again)
		}
		if s.status(first.key) != "committed" {
			t.Errorf("%s: its key is %q", payment, s.status(first.key))
		}
	}
	s.wantCharges(2)
	if orders, refunds := s.count("SELECT count(*) FROM shop.orders"), s.stats().Refunds; orders != 1 || refunds != 1 {
		t.Errorf("%d orders, %d refunds", orders, refunds)
	}
}

// Article 000: a $9,000 payment is not answered with a $49 receipt, nor the other way about.
func TestOtherAmountUnderAUsedKeyIsRefused(t *testing.T) {
	s := open(t)
	for first, second := range map[string]string{"4900": "900000", "900000": "4900"} {
		paid := s.pays("charge", first)
		refused := s.client("--key", paid.key, "charge", second)
		if refused.code != 1 || !strings.Contains(refused.stderr, "422 ") || !strings.Contains(refused.stdout, idemhttp.ProblemBase+"key-reused") {
			t.Errorf("%s, then %s: %+v", first, second, refused)
		}
		if again := s.pays("--key", paid.key, "charge", first); again.stdout != paid.stdout {
			t.Errorf("%s, then %s, then %s: %+v", first, second, first, again)
		}
	}
	s.wantCharges(2)
}

func TestDeclinedCardIsRecordedAndReplayed(t *testing.T) {
	s := open(t)
	first := s.client("--card", processor.DeclinedCard, "charge", "4900")
	if first.code != 1 || !strings.Contains(first.stderr, "402 ") || first.replayed() || !strings.Contains(first.stdout, processor.Declined) {
		t.Errorf("first: %+v", first)
	}
	if got := s.status(first.key); got != "failed" {
		t.Errorf("the key is %q, want failed", got)
	}
	again := s.client("--key", first.key, "--card", processor.DeclinedCard, "charge", "4900")
	if again.code != 1 || again.stdout != first.stdout || !again.replayed() || s.stats().Requests != 1 {
		t.Errorf("again: %+v, %d calls of the processor", again, s.stats().Requests)
	}
	s.wantCharges(0)
}

// What the processor will never take is a refusal like any other.
func TestRequestThatTheProcessorRefusesIsRecorded(t *testing.T) {
	s := open(t)
	key := idemhttp.NewKey()
	for i := range 2 {
		a := s.post(acme, key, "/charges", `{"card":"4242424242424242","amount_cents":-1}`)
		if a.status != http.StatusUnprocessableEntity || a.replayed() != (i == 1) || !strings.Contains(a.body, "amount_cents must be above 0") {
			t.Errorf("%d %v %s", a.status, a.header, a.body)
		}
	}
	if n := s.stats().Requests; n != 1 || s.status(key) != "failed" {
		t.Errorf("%d calls of the processor, the key is %q", n, s.status(key))
	}
}

func TestTenantsDoNotMeet(t *testing.T) {
	s := open(t)
	first := s.pays("charge", "4900")
	other := s.pays("--token", "globex-secret", "--key", first.key, "charge", "900000")
	if other.replayed() || other.stdout == first.stdout {
		t.Errorf("globex got %+v, acme had %+v", other, first)
	}
	s.wantCharges(2)
	stolen := s.client("--token", "globex-secret", "refund", "ch_1", "4900") // acme's
	if stolen.code != 1 || !strings.Contains(stolen.stderr, "404 ") || s.stats().Refunds != 0 {
		t.Errorf("globex refunds acme's charge: %+v, %d refunds", stolen, s.stats().Refunds)
	}
	if own := s.pays("--token", "globex-secret", "refund", "ch_2", "900000"); !strings.Contains(own.stdout, "ch_2") {
		t.Errorf("globex refunds its own charge: %+v", own)
	}
}

// A token that is no longer known gets no replay (it stands in front of the keys), and its tenant's next one does.
func TestRevokedTokenGetsNoReplay(t *testing.T) {
	s := open(t, "--token=acme=old")
	first := s.pays("--token=old", "charge", "4900")
	if err := s.api.Stop(); err != nil {
		t.Error(err)
	}
	s.front.shut()
	s.startAPI("--token=acme=new")
	for _, token := range []string{"Bearer old", "Bearer ", "", "new", "Basic new"} {
		a := s.post(token, first.key, "/charges", charge49)
		if a.status != http.StatusUnauthorized || a.replayed() || strings.Contains(a.body, "ch_1") || a.header.Get("WWW-Authenticate") != "Bearer" {
			t.Errorf("%q: %d %v %s", token, a.status, a.header, a.body)
		}
	}
	if o := s.client("--token=old", "--key", first.key, "charge", "4900"); o.code != 1 || !strings.Contains(o.stderr, "401 ") {
		t.Errorf("the client with the old token: %+v", o)
	}
	if again := s.pays("--token=new", "--key", first.key, "charge", "4900"); !again.replayed() || again.stdout != first.stdout {
		t.Errorf("the client with the new token: %+v", again)
	}
	s.wantCharges(1)
}
