package processor_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/pgidem/pgidem/internal/processor"
)

// span is how long before now by the database's clock the first charge landed.
func (b *bundle) span() (s time.Duration) {
	b.t.Helper()
	if err := b.pool.QueryRow(ctx, "SELECT clock_timestamp() - min(created_at) FROM processor.operations").Scan(&s); err != nil {
		b.t.Fatal(err)
	}
	return s
}

const moment = 30 * time.Millisecond

func TestLatencyIsBeforeTheChargeLands(t *testing.T) {
	t.Parallel()
	b := setup(t, processor.Behaviour{Latency: moment})
	var before, landed time.Time
	if err := b.pool.QueryRow(ctx, "SELECT clock_timestamp()").Scan(&before); err != nil {
		t.Fatal(err)
	}
	b.charge("k-1")
	if err := b.pool.QueryRow(ctx, "SELECT created_at FROM processor.operations").Scan(&landed); err != nil {
		t.Fatal(err)
	}
	if took := landed.Sub(before); took < moment {
		t.Errorf("the charge landed after %v, want %v at least", took, moment)
	}
}

func TestLagIsAfterTheChargeHasLanded(t *testing.T) {
	t.Parallel()
	b := setup(t, processor.Behaviour{Lag: moment})
	b.charge("k-1")
	if s := b.span(); s < moment {
		t.Errorf("the answer came %v after the charge, want %v at least", s, moment)
	}
}

func TestOneCallOfAKeyAloneMayBeSlow(t *testing.T) {
	t.Parallel()
	b := setup(t, processor.Behaviour{Repeat: processor.RepeatCharge, Hold: true, SlowCall: 2})
	b.charge("k-1")
	second := b.beside(ctx, "k-1", payment)
	b.untilPending(1)
	b.charge("k-1")
	b.charge("k-2") // of another key it is the first
	b.wantNothingYet(second)
	b.become(processor.Behaviour{})
	if o := <-second; o.err != nil || o.receipt.ID != "ch_4" {
		t.Errorf("the second call: %+v, %v; want the last charge", o.receipt, o.err)
	}
	b.wantCharges(4, 2)
}

func (b *bundle) wantNothingYet(call <-chan outcome) {
	b.t.Helper()
	select {
	case o := <-call:
		b.t.Fatalf("a call that is held was answered: %+v, %v", o.receipt, o.err)
	default:
	}
}

func TestCallIsCarriedOutThoughItsCallerHasGone(t *testing.T) {
	t.Parallel()
	for name, repeat := range map[string]processor.Repeat{"refuses repeats": processor.RepeatReplay, "charges again": processor.RepeatCharge} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, processor.Behaviour{Hold: true, Repeat: repeat})
			impatient, hangUp := context.WithCancel(t.Context())
			call := b.beside(impatient, "k-1", payment)
			b.untilPending(1)
			hangUp()
			wantIs(t, (<-call).err, context.Canceled)
			if stats := b.stats(); stats.Charges != 0 || stats.Pending != 1 {
				t.Errorf("%+v, want one call on its way", stats)
			}
			b.become(processor.Behaviour{Repeat: repeat})
			b.wantCharges(1, 0)
			if found, err := b.FindCharge(ctx, "k-1"); err != nil || found.Status != processor.Succeeded {
				t.Errorf("asked, it says %+v, %v", found, err)
			}
		})
	}
}

func TestProcessorThatCanBeAskedSaysFoundNothingAndPending(t *testing.T) {
	t.Parallel()
	b := setup(t, processor.Behaviour{Hold: true})
	_, err := b.FindCharge(ctx, "k-1")
	wantIs(t, err, processor.ErrNothing)
	call := b.beside(ctx, "k-1", payment)
	b.untilPending(1)
	_, err = b.FindCharge(ctx, "k-1")
	wantIs(t, err, processor.ErrPending)
	if response, text := b.raw("GET", "/v1/charges?key=k-1", ""); response.StatusCode != 202 || text != `{"status":"pending"}` {
		t.Errorf("%s %s, want 202", response.Status, text)
	}
	_, err = b.FindRefund(ctx, "k-1")
	wantIs(t, err, processor.ErrNothing)
	_, err = b.GetCharge(ctx, "ch_1")
	wantIs(t, err, processor.ErrNothing)
	b.become(processor.Behaviour{})
	made := <-call
	if made.err != nil {
		t.Fatal(made.err)
	}
	for _, ask := range []func() (*processor.Receipt, error){
		func() (*processor.Receipt, error) { return b.FindCharge(ctx, "k-1") },
		func() (*processor.Receipt, error) { return b.GetCharge(ctx, made.receipt.ID) },
	} {
		if found, err := ask(); err != nil || *found != *made.receipt {
			t.Errorf("%+v, %v; want %+v", found, err, made.receipt)
		}
	}
	if stats := b.stats(); stats.Asked != 7 || stats.Requests != 1 {
		t.Errorf("%+v, want 7 questions", stats)
	}
}

// A call that has arrived is pending from the first moment on, also while the processor still looks the key up.
func TestCallThatIsLookedUpIsPending(t *testing.T) {
	t.Parallel()
	b := setup(t, processor.Behaviour{})
	conn, err := b.pool.Acquire(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	tx, err := conn.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(ctx) }() // after a commit it does nothing
	if _, err := tx.Exec(ctx, "LOCK TABLE processor.operations IN ACCESS EXCLUSIVE MODE"); err != nil {
		t.Fatal(err)
	}
	call := b.beside(ctx, "k-1", payment)
	blocked := func(n int) {
		t.Helper()
		for waiting, deadline := 0, time.Now().Add(30*time.Second); waiting < n; time.Sleep(time.Millisecond) {
			err := b.pool.QueryRow(ctx, "SELECT count(*) FROM pg_locks WHERE NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())").Scan(&waiting)
			if err != nil || time.Now().After(deadline) {
				t.Fatalf("%d sessions wait for the table: %v", waiting, err)
			}
		}
	}
	blocked(1)
	asked := make(chan error, 1)
	go func() {
		_, err := b.FindCharge(ctx, "k-1")
		asked <- err
	}()
	blocked(2)
	if err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	if err := <-asked; err != nil && !errors.Is(err, processor.ErrPending) {
		t.Errorf("asked while the call is on its way, it says %v", err)
	}
	if o := <-call; o.err != nil {
		t.Error(o.err)
	}
}

func TestProcessorMayBeUnableToAnswerQuestions(t *testing.T) {
	t.Parallel()
	for asked, want := range map[processor.Asked]struct{ pending, landed error }{
		processor.AskedPending: {processor.ErrPending, nil},
		processor.AskedLanded:  {processor.ErrNothing, nil},
		processor.AskedNothing: {processor.ErrNothing, processor.ErrNothing},
		processor.AskedRefuse:  {processor.ErrCannotAsk, processor.ErrCannotAsk},
	} {
		b := setup(t, processor.Behaviour{Asked: asked, Hold: true})
		call := b.beside(ctx, "k-1", payment)
		b.untilPending(1)
		_, err := b.FindCharge(ctx, "k-1")
		wantIs(t, err, want.pending)
		b.become(processor.Behaviour{Asked: asked})
		made := <-call
		if made.err != nil {
			t.Fatal(made.err)
		}
		_, err = b.FindCharge(ctx, "k-1")
		wantIs(t, err, want.landed)
		_, err = b.GetCharge(ctx, made.receipt.ID)
		wantIs(t, err, want.landed)
	}
}

func TestEqualCallWaitsForTheFirstAndIsARepeat(t *testing.T) {
	t.Parallel()
	b := setup(t, processor.Behaviour{Hold: true})
	first := b.beside(ctx, "k-1", payment)
	b.untilPending(1)
	second := b.beside(ctx, "k-1", payment)
	b.untilPending(2)
	impatient, hangUp := context.WithCancel(t.Context())
	third := b.beside(impatient, "k-1", payment)
	b.untilPending(3)
	hangUp()
	wantIs(t, (<-third).err, context.Canceled)
	b.untilPending(2)
	b.wantNothingYet(first)
	b.wantNothingYet(second)
	other := payment
	other.AmountCents = 9000_00
	_, err := b.Charge(ctx, "k-1", other) // it does not even wait
	wantIs(t, err, processor.ErrKeyReused)

	b.become(processor.Behaviour{})
	o, repeat := <-first, <-second
	if o.err != nil || repeat.err != nil || o.receipt.Replayed || !repeat.receipt.Replayed || o.receipt.ID != repeat.receipt.ID {
		t.Errorf("first %+v, %v; second %+v, %v", o.receipt, o.err, repeat.receipt, repeat.err)
	}
	b.wantCharges(1, 0)
}

func TestEqualCallMayBeAConflict(t *testing.T) {
	t.Parallel()
	b := setup(t, processor.Behaviour{Hold: true, Conflict: processor.ConflictError})
	first := b.beside(ctx, "k-1", payment)
	b.untilPending(1)
	_, err := b.Charge(ctx, "k-1", payment)
	wantIs(t, err, processor.ErrInProgress)
	b.become(processor.Behaviour{Conflict: processor.ConflictError})
	if o := <-first; o.err != nil || o.receipt.Replayed {
		t.Errorf("first: %+v, %v", o.receipt, o.err)
	}
	if again := b.charge("k-1"); !again.Replayed {
		t.Errorf("after the first: %+v", again)
	}
	b.wantCharges(1, 0)
}

func TestUnavailableIsBeforeAnythingHappens(t *testing.T) {
	t.Parallel()
	b := setup(t, processor.Behaviour{Unavailable: 2})
	for _, key := range []string{"k-1", "k-2"} { // each key for itself
		for range 2 {
			_, err := b.Charge(ctx, key, payment)
			wantIs(t, err, processor.ErrUnavailable)
		}
		_, err := b.FindCharge(ctx, key)
		wantIs(t, err, processor.ErrNothing)
		b.charge(key)
	}
	b.become(processor.Behaviour{UnavailableRate: 1})
	_, err := b.Charge(ctx, "k-1", payment)
	wantIs(t, err, processor.ErrUnavailable)
	b.wantCharges(2, 0)
	if stats := b.stats(); stats.Unavailable != 5 || stats.Requests != 7 {
		t.Errorf("%+v, want 5 of 7 requests unavailable", stats)
	}
}

func TestDroppedConnectionLeavesTheCharge(t *testing.T) {
	t.Parallel()
	b := setup(t, processor.Behaviour{Drop: 2})
	for range 2 { // the second is a repeat
		_, err := b.Charge(ctx, "k-1", payment)
		var answer *processor.Error
		if err == nil || errors.As(err, &answer) {
			t.Fatalf("the call whose connection is dropped: %v", err)
		}
		b.wantCharges(1, 0)
	}
	if r := b.charge("k-1"); !r.Replayed || r.ID != "ch_1" {
		t.Errorf("the retry: %+v, want the charge that stands", r)
	}
	if stats := b.stats(); stats.Dropped != 2 || stats.Refused != 2 || stats.Requests != 3 {
		t.Errorf("%+v, want 2 of 3 dropped", stats)
	}
}

func TestDropCountsWhatIsNotUnavailable(t *testing.T) {
	t.Parallel()
	b := setup(t, processor.Behaviour{Unavailable: 1, Drop: 1})
	_, err := b.Charge(ctx, "k-1", payment)
	wantIs(t, err, processor.ErrUnavailable)
	if _, err = b.Charge(ctx, "k-1", payment); err == nil || errors.Is(err, processor.ErrUnavailable) {
		t.Errorf("the second call: %v, want a dropped connection", err)
	}
	b.charge("k-1")
	b.wantCharges(1, 0)
}

// net/http sends a request that has a key a second time when a connection that it had used before is cut.
func TestClientSendsEachCallOnce(t *testing.T) {
	t.Parallel()
	b := setup(t, processor.Behaviour{Repeat: processor.RepeatCharge})
	b.charge("k-0") // the connection has been used
	b.become(processor.Behaviour{Repeat: processor.RepeatCharge, Drop: 1})
	if _, err := b.Charge(ctx, "k-1", payment); err == nil {
		t.Error("the connection was not dropped")
	}
	if stats := b.stats(); stats.Requests != 2 || stats.Charges != 2 {
		t.Errorf("%+v, want 2 requests, 2 charges", stats)
	}
}

func TestBehaviourChangesAtRunTime(t *testing.T) {
	t.Parallel()
	b := setup(t, processor.Behaviour{Repeat: processor.RepeatError})
	all := processor.Behaviour{
		Repeat: processor.RepeatCharge, Conflict: processor.ConflictError, Asked: processor.AskedRefuse,
		Latency: 1500 * time.Microsecond, Lag: time.Second, Hold: true, SlowCall: 1,
		DeclineAll: true, Unavailable: 2, UnavailableRate: 0.25, Drop: 3,
	}
	if now, err := b.Behaviour(ctx); err != nil || now.Repeat != processor.RepeatError {
		t.Errorf("it starts with %+v, %v", now, err)
	}
	b.become(all)
	if now, err := b.Behaviour(ctx); err != nil || now != all {
		t.Errorf("it has become %+v, %v; want %+v", now, err, all)
	}
	if !allSet(reflect.ValueOf(all)) {
		t.Error("this test forgets a field")
	}
	for _, wrong := range []string{
		``, `[]`, `{"repeat":"perhaps"}`, `{"latency":"long"}`, `{"latency":5}`, `{"latency":"-1s"}`, `{"drop":-1}`, `{"slow":1}`,
		`{"unavailable_rate":1.5}`, `{"unavailable_rate":-1}`, `{"asked":1}`, `{"slow_call":-1}`,
	} {
		if response, text := b.raw("PUT", "/v1/behaviour", wrong); response.StatusCode != 400 {
			t.Errorf("%s: %s %s", wrong, response.Status, text)
		}
	}
	if now, err := b.Behaviour(ctx); err != nil || now != all {
		t.Errorf("a wrong one has changed it to %+v, %v", now, err)
	}
	response, text := b.raw("PUT", "/v1/behaviour", `{"repeat":"charge","latency":"20ms"}`)
	want := processor.Behaviour{Repeat: processor.RepeatCharge, Latency: 20 * time.Millisecond}
	if response.StatusCode != 200 || b.p.Current() != want {
		t.Errorf("%s %s: it has become %+v, want what is not named to be zero", response.Status, text, b.p.Current())
	}
	if err := b.p.Become(processor.Behaviour{Repeat: 7}); err == nil {
		t.Error("a value without a name is accepted")
	}
}

func allSet(v reflect.Value) bool {
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			return false
		}
	}
	return true
}

func TestEveryFieldOfBehaviourHasAFlag(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(processor.Behaviour{})
	if err != nil {
		t.Fatal(err)
	}
	var members map[string]any
	if err := json.Unmarshal(text, &members); err != nil {
		t.Fatal(err)
	}
	var b processor.Behaviour
	f := flag.NewFlagSet("processor", flag.ContinueOnError)
	b.Flags(f)
	for member := range members {
		if f.Lookup(strings.ReplaceAll(member, "_", "-")) == nil {
			t.Errorf("%s has no flag", member)
		}
	}
	if fields := reflect.TypeFor[processor.Behaviour]().NumField(); len(members) != fields {
		t.Errorf("%d members in JSON, %d fields", len(members), fields)
	}
	err = f.Parse(strings.Fields(`--repeat=charge --conflict error --asked=refuse --latency=1ms --lag=2ms --hold --slow-call=1
		--decline-all --unavailable=2 --unavailable-rate=.5 --drop=3`))
	if err != nil || !allSet(reflect.ValueOf(b)) {
		t.Errorf("the flags make %+v, %v", b, err)
	}
}

func TestResetForgetsEverythingButTheBehaviour(t *testing.T) {
	t.Parallel()
	b := setup(t, processor.Behaviour{Drop: 1})
	if _, err := b.Charge(ctx, "k-1", payment); err == nil {
		t.Error("the connection was not dropped")
	}
	b.charge("k-1")
	if err := b.Reset(ctx); err != nil {
		t.Fatal(err)
	}
	if stats := b.stats(); stats != (processor.Stats{}) {
		t.Errorf("%+v is left", stats)
	}
	if _, err := b.Charge(ctx, "k-1", payment); err == nil {
		t.Error("the key's first call after the reset was not dropped")
	}
	if r := b.charge("k-1"); r.ID != "ch_1" {
		t.Errorf("the first charge after the reset is %s", r.ID)
	}
}

func TestResetWaitsForWhatHasArrived(t *testing.T) {
	t.Parallel()
	b := setup(t, processor.Behaviour{Hold: true})
	call := b.beside(ctx, "k-1", payment)
	b.untilPending(1)
	impatient, cancel := context.WithTimeout(t.Context(), moment)
	defer cancel()
	wantIs(t, b.Reset(impatient), context.DeadlineExceeded)
	b.become(processor.Behaviour{})
	if o := <-call; o.err != nil {
		t.Fatal(o.err)
	}
	if err := b.Reset(ctx); err != nil {
		t.Fatal(err)
	}
	b.wantCharges(0, 0)
}
