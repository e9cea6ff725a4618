package processor_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/pgidem/pgidem/internal/processor"
)

const body = `{"amount_cents":4900,"card":"4242424242424242","reference":"order 1"}`

func TestChargeIsAnsweredWith201AndStands(t *testing.T) {
	t.Parallel()
	b := setup(t, processor.Behaviour{})
	response, text := b.raw("POST", "/v1/charges", body, "Idempotency-Key", "k-1")
	if want := `{"id":"ch_1","amount_cents":4900,"currency":"usd","status":"succeeded","reference":"order 1"}`; response.StatusCode != 201 || text != want {
		t.Errorf("%s %s, want 201 %s", response.Status, text, want)
	}
	if response.Header.Get("Idempotent-Replayed") != "" || response.Header.Get("Content-Type") != "application/json" {
		t.Errorf("the header is %v", response.Header)
	}
	stats := b.stats()
	want := processor.Stats{Charges: 1, ChargedCents: 4900, Keys: 1, References: 1, Requests: 1}
	if stats != want {
		t.Errorf("%+v, want %+v", stats, want)
	}
}

func TestRepeatedKeyGetsTheFirstAnswerAndIsMarked(t *testing.T) {
	t.Parallel()
	b := setup(t, processor.Behaviour{})
	_, first := b.raw("POST", "/v1/charges", body, "Idempotency-Key", "k-1")
	for range 2 {
		response, text := b.raw("POST", "/v1/charges", body, "Idempotency-Key", "k-1")
		if response.StatusCode != 200 || text != first || response.Header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("%s %v %s, want 200 %s, marked", response.Status, response.Header, text, first)
		}
	}
	b.wantCharges(1, 0)
	if stats := b.stats(); stats.Refused != 2 || stats.Requests != 3 {
		t.Errorf("%+v, want 3 requests, 2 refused", stats)
	}
}

func TestRepeatedKeyMayBeADuplicateWithTheFirstOnesID(t *testing.T) {
	t.Parallel()
	b := setup(t, processor.Behaviour{Repeat: processor.RepeatError})
	first := b.charge("k-1")
	response, text := b.raw("POST", "/v1/charges", body, "Idempotency-Key", "k-1")
	if want := `{"error":"duplicate_key","id":"ch_1"}`; response.StatusCode != 409 || text != want {
		t.Errorf("%s %s, want 409 %s", response.Status, text, want)
	}
	_, err := b.Charge(ctx, "k-1", payment)
	wantIs(t, err, processor.ErrDuplicate)
	var e *processor.Error
	if !errors.As(err, &e) || e.ID != first.ID {
		t.Fatalf("%v names another charge than %s", err, first.ID)
	}
	if got, err := b.GetCharge(ctx, e.ID); err != nil || *got != *first {
		t.Errorf("the charge is %+v (%v), want %+v", got, err, first)
	}
	b.wantCharges(1, 0)
}

func TestProcessorThatKnowsNoKeysChargesAgain(t *testing.T) {
	t.Parallel()
	b := setup(t, processor.Behaviour{Repeat: processor.RepeatCharge})
	first, second := b.charge("k-1"), b.charge("k-1")
	if first.ID == second.ID || second.Replayed {
		t.Errorf("%+v after %+v, want another charge", second, first)
	}
	other := payment
	other.AmountCents++
	if _, err := b.Charge(ctx, "k-1", other); err != nil {
		t.Errorf("another request under the key: %v", err)
	}
	b.wantCharges(3, 2)
	if found, err := b.FindCharge(ctx, "k-1"); err != nil || found.ID != first.ID {
		t.Errorf("it says %+v (%v) when asked, want the first charge", found, err)
	}
}

func TestKeyUsedForAnotherRequestIsRefused(t *testing.T) {
	t.Parallel()
	for _, repeat := range []processor.Repeat{processor.RepeatReplay, processor.RepeatError} {
		b := setup(t, processor.Behaviour{Repeat: repeat})
		b.charge("k-1")
		for what, change := range map[string]func(*processor.Request){
			"amount":   func(r *processor.Request) { r.AmountCents = 9000_00 },
			"card":     func(r *processor.Request) { r.Card = "5555555555554444" },
			"currency": func(r *processor.Request) { r.Currency = "eur" },
		} {
			other := payment
			change(&other)
			_, err := b.Charge(ctx, "k-1", other)
			wantIs(t, err, processor.ErrKeyReused)
			var e *processor.Error
			if errors.As(err, &e) && (e.Status != http.StatusUnprocessableEntity || e.ID != "") {
				t.Errorf("another %s: %+v", what, e)
			}
		}
		same := payment
		same.Currency, same.Reference = "usd", "order 1, second attempt"
		if _, err := b.Charge(ctx, "k-1", same); errors.Is(err, processor.ErrKeyReused) {
			t.Errorf("the default currency and another reference are another request: %v", err)
		}
		b.wantCharges(1, 0)
	}
}

func TestWithoutAKeyEachCallCharges(t *testing.T) {
	t.Parallel()
	b := setup(t, processor.Behaviour{})
	b.charge("")
	b.charge("")
	nameless := payment
	nameless.Reference = ""
	for range 2 {
		if _, err := b.Charge(ctx, "", nameless); err != nil {
			t.Fatal(err)
		}
	}
	b.wantCharges(4, 1) // the reference tells which belong together
}

func TestPaymentChargedUnderTwoKeysShowsByItsReference(t *testing.T) {
	t.Parallel()
	b := setup(t, processor.Behaviour{})
	b.charge("k-1")
	b.charge("k-2")
	b.wantCharges(2, 0)
	if stats := b.stats(); stats.DuplicateReferences != 1 || stats.Keys != 2 || stats.References != 1 {
		t.Errorf("%+v, want one reference with a charge too many", stats)
	}
}

func TestDeclinedCardTakesNoMoneyAndStaysDeclined(t *testing.T) {
	t.Parallel()
	b := setup(t, processor.Behaviour{})
	poor := payment
	poor.Card = processor.DeclinedCard
	first, err := b.Charge(ctx, "k-1", poor)
	if err != nil || first.Status != processor.Declined {
		t.Fatalf("%+v, %v; want a declined receipt", first, err)
	}
	response, _ := b.raw("POST", "/v1/charges", strings.Replace(body, "4242424242424242", processor.DeclinedCard, 1), "Idempotency-Key", "k-1")
	if response.StatusCode != http.StatusPaymentRequired || response.Header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("the repeat: %s %v, want 402, marked", response.Status, response.Header)
	}
	if found, err := b.FindCharge(ctx, "k-1"); err != nil || *found != *first {
		t.Errorf("asked, it says %+v (%v), want %+v", found, err, first)
	}
	b.become(processor.Behaviour{DeclineAll: true})
	if r, err := b.Charge(ctx, "k-2", payment); err != nil || r.Status != processor.Declined {
		t.Errorf("decline_all: %+v, %v", r, err)
	}
	b.wantCharges(0, 0)
	if stats := b.stats(); stats.Declined != 2 || stats.Keys != 0 {
		t.Errorf("%+v, want 2 declined", stats)
	}
}

func TestRefundGivesBackACharge(t *testing.T) {
	t.Parallel()
	b := setup(t, processor.Behaviour{})
	made := b.charge("k-1")
	back := processor.Request{AmountCents: 49_00, Charge: made.ID, Reference: "order 1"}
	first, err := b.Refund(ctx, "k-1", back) // keys of charges and of refunds are not the same
	if err != nil || first.ID != "re_2" || first.Charge != made.ID || first.Status != processor.Succeeded {
		t.Fatalf("%+v, %v", first, err)
	}
	again, err := b.Refund(ctx, "k-1", back)
	if err != nil || again.ID != first.ID || !again.Replayed {
		t.Errorf("the repeat: %+v, %v", again, err)
	}
	back.AmountCents--
	_, err = b.Refund(ctx, "k-1", back)
	wantIs(t, err, processor.ErrKeyReused)
	if got, err := b.FindRefund(ctx, "k-1"); err != nil || *got != *first {
		t.Errorf("found %+v, %v", got, err)
	}
	if got, err := b.GetRefund(ctx, first.ID); err != nil || *got != *first {
		t.Errorf("got %+v, %v", got, err)
	}
	if stats := b.stats(); stats.Refunds != 1 || stats.Charges != 1 || stats.DuplicateRefunds != 0 {
		t.Errorf("%+v, want a charge and a refund", stats)
	}
	b.become(processor.Behaviour{Repeat: processor.RepeatCharge})
	if _, err = b.Refund(ctx, "k-1", back); err != nil {
		t.Fatal(err)
	}
	if stats := b.stats(); stats.Refunds != 2 || stats.DuplicateRefunds != 1 {
		t.Errorf("%+v, want a refund too many", stats)
	}
}

func TestRefundOfWhatWasNotChargedIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t, processor.Behaviour{})
	poor := payment
	poor.Card = processor.DeclinedCard
	declined, err := b.Charge(ctx, "k-1", poor)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{declined.ID, "ch_7", "re_1", "1", "ch_01", "ch_-1", "ch_9223372036854775808"} {
		_, err := b.Refund(ctx, "", processor.Request{AmountCents: 1, Charge: id})
		wantIs(t, err, processor.ErrNoCharge)
	}
}

func TestStormUnderOneKeyChargesOnce(t *testing.T) {
	t.Parallel()
	b := setup(t, processor.Behaviour{})
	other := on(t, b.pool, processor.Behaviour{}) // they share no memory: the unique index decides
	var (
		group errgroup.Group
		mu    sync.Mutex
		first []string
		start = make(chan struct{})
	)
	for i := range 64 {
		client := []processor.Client{b.Client, other.Client}[i%2]
		group.Go(func() error {
			<-start
			r, err := client.Charge(ctx, "k-1", payment)
			if err != nil {
				return err
			}
			if r.ID != "ch_1" && !r.Replayed {
				return fmt.Errorf("%+v", r)
			}
			mu.Lock()
			defer mu.Unlock()
			if !r.Replayed {
				first = append(first, r.ID)
			}
			return nil
		})
	}
	close(start)
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
	if len(first) != 1 {
		t.Errorf("%d calls say that they charged: %q", len(first), first)
	}
	b.wantCharges(1, 0)
}

func TestProcessorThatFailsDoesNotSayThatNothingHappened(t *testing.T) {
	t.Parallel()
	b := setup(t, processor.Behaviour{})
	if _, err := b.pool.Exec(ctx, "DROP SCHEMA processor CASCADE"); err != nil {
		t.Fatal(err)
	}
	_, err := b.Charge(ctx, "k-1", payment)
	wantIs(t, err, processor.ErrFailed)
	_, err = b.FindCharge(ctx, "k-1")
	wantIs(t, err, processor.ErrFailed)
	_, err = b.Stats(ctx)
	wantIs(t, err, processor.ErrFailed)
	if n := b.p.Current(); n != (processor.Behaviour{}) {
		t.Errorf("it has become %+v", n)
	}
}
