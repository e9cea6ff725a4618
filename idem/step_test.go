package idem_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pgidem/pgidem/idem"
)

var errCrash = errors.New("the process died here")

// downstream is a system that steps call; it counts what took effect under each key.
type downstream struct {
	effects map[string]int
	then    error // what the call returns after its effect
}

func (d *downstream) charge(_ context.Context, key string) ([]byte, error) {
	if d.effects == nil {
		d.effects = make(map[string]int)
	}
	d.effects[key]++
	return fmt.Appendf(nil, "ch_%d", d.effects[key]), d.then
}

// total counts effects under any key.
func (d *downstream) total() (n int) {
	for _, e := range d.effects {
		n += e
	}
	return n
}

// held claims a key for a test to step under; a bare Claim has no heartbeat.
func (b *bundle) held(s *idem.Store, id string) *idem.Lease {
	b.t.Helper()
	lease, _, err := s.Claim(b.ctx, b.key(id))
	if err != nil {
		b.t.Fatal(err)
	}
	return lease
}

func TestStepsOfAnEarlierRunAreReplayed(t *testing.T) {
	b := setup(t)
	store := b.newStore(rerun)
	var d downstream
	noted := 0
	work := func(end error) idem.Work {
		return func(ctx context.Context, l *idem.Lease) (*idem.Response, error) {
			charged, err := l.Step(ctx, "charge", d.charge)
			if err != nil {
				return nil, err
			}
			_, err = l.StepTx(ctx, "note", func(ctx context.Context, tx pgx.Tx) ([]byte, error) {
				noted++
				_, err := tx.Exec(ctx, "INSERT INTO charges (key) VALUES ('k')")
				return nil, err
			})
			if err != nil {
				return nil, err
			}
			return &idem.Response{Status: 201, Body: charged}, end
		}
	}
	_, err := store.Hold(b.ctx, b.key("k"), work(errCrash))
	wantIs(t, err, errCrash)
	resp, err := store.Hold(b.ctx, b.key("k"), work(nil))
	if err != nil || string(resp.Body) != "ch_1" || resp.Replayed {
		t.Fatalf("%+v, %v", resp, err)
	}
	if d.total() != 1 || noted != 1 || b.charges("k") != 1 {
		t.Errorf("%d charges, %d notes, %d rows; want one of each", d.total(), noted, b.charges("k"))
	}
}

func TestStepJSONKeepsItsType(t *testing.T) {
	b := setup(t)
	store := b.newStore(rerun)
	type receipt struct {
		ID    string
		Cents int64
	}
	want, calls := receipt{"ch_1", 1<<53 + 1}, 0
	for range 2 {
		lease := b.held(store, "k")
		got, err := idem.StepJSON(b.ctx, lease, "charge", func(context.Context, string) (receipt, error) {
			calls++
			return want, nil
		})
		if err != nil || got != want {
			t.Fatalf("%+v, %v", got, err)
		}
		if err := lease.Abandon(b.ctx); err != nil {
			t.Fatal(err)
		}
	}
	if calls != 1 {
		t.Errorf("%d calls", calls)
	}
}

func TestStepUsesTheDownstreamKeyOfItsName(t *testing.T) {
	b := setup(t)
	lease := b.held(b.store, "k")
	var got string
	_, err := lease.Step(b.ctx, "charge", func(_ context.Context, key string) ([]byte, error) { got = key; return nil, nil })
	if err != nil || got == "" || got != lease.DownstreamKey("charge") || got == lease.DownstreamKey("refund") {
		t.Errorf("%q, %v", got, err)
	}
}

// What an earlier try began and did not record is in doubt.
func TestBegunStepIsAskedAboutOrRunAgainOrUnknown(t *testing.T) {
	b := setup(t)
	asks := func(v idem.Verdict, output string, err error) func(context.Context, string) (idem.Verdict, []byte, error) {
		return func(context.Context, string) (idem.Verdict, []byte, error) { return v, []byte(output), err }
	}
	for name, c := range map[string]struct {
		stale   idem.StalePolicy
		ask     func(context.Context, string) (idem.Verdict, []byte, error)
		output  string
		err     error
		effects int
	}{
		"found":                           {idem.StaleResolve, asks(idem.Found, "ch_found", nil), "ch_found", nil, 1},
		"nothing, so it runs":             {idem.StaleResolve, asks(idem.Nothing, "", nil), "ch_2", nil, 2},
		"pending":                         {idem.StaleResolve, asks(idem.Pending, "", nil), "", idem.ErrOutcomeUnknown, 1},
		"asking fails":                    {idem.StaleResolve, asks(idem.Found, "", errCrash), "", idem.ErrOutcomeUnknown, 1},
		"cannot be asked":                 {idem.StaleResolve, nil, "", idem.ErrOutcomeUnknown, 1},
		"a repeated key is refused":       {idem.StaleRerun, nil, "ch_2", nil, 2},
		"refused and asked all the same":  {idem.StaleRerun, asks(idem.Found, "ch_found", nil), "ch_found", nil, 1},
		"asked under rerun, and nothing":  {idem.StaleRerun, asks(idem.Nothing, "", nil), "ch_2", nil, 2},
		"asked under rerun, and pending":  {idem.StaleRerun, asks(idem.Pending, "", nil), "", idem.ErrOutcomeUnknown, 1},
		"asked under rerun, and it fails": {idem.StaleRerun, asks(idem.Nothing, "", errCrash), "", idem.ErrOutcomeUnknown, 1},
	} {
		t.Run(name, func(t *testing.T) {
			b := b.on(t)
			store, key := b.newStore(idem.Policy{Stale: c.stale, Lease: time.Minute, Settle: time.Minute, Wait: -1}), b.key("k")
			d := downstream{then: errCrash}
			call := idem.Call{Name: "charge", Do: d.charge, Ask: c.ask}
			lease := b.held(store, "k")
			_, err := lease.Call(b.ctx, call)
			wantIs(t, err, errCrash)
			if err := lease.Abandon(b.ctx); err != nil {
				t.Fatal(err)
			}
			b.age(key, 10*time.Minute)
			d.then = nil
			output, err := b.held(store, "k").Call(b.ctx, call)
			if !errors.Is(err, c.err) || (err == nil) != (c.err == nil) || string(output) != c.output {
				t.Errorf("%q, %v; want %q, %v", output, err, c.output, c.err)
			}
			if d.total() != c.effects || len(d.effects) != 1 {
				t.Errorf("%v; want %d effects under one key", d.effects, c.effects)
			}
		})
	}
}

// Within a run, too: a second call after an error may repeat an effect.
func TestStepThatFailedIsInDoubtInItsOwnRun(t *testing.T) {
	b := setup(t)
	d := downstream{then: errCrash}
	lease := b.held(b.store, "k") // StaleRefuse
	_, err := lease.Step(b.ctx, "charge", d.charge)
	wantIs(t, err, errCrash)
	_, err = lease.Step(b.ctx, "charge", d.charge)
	wantIs(t, err, idem.ErrOutcomeUnknown)
	if d.total() != 1 {
		t.Errorf("%d effects", d.total())
	}
}

func TestTransientStepIsAsIfItHadNotBegun(t *testing.T) {
	b := setup(t)
	store, tries := b.newStore(idem.Policy{Wait: -1}), 0
	work := func(ctx context.Context, l *idem.Lease) (*idem.Response, error) {
		if _, err := l.Step(ctx, "reserve", func(context.Context, string) ([]byte, error) { return []byte("r"), nil }); err != nil {
			return nil, err
		}
		charged, err := l.Step(ctx, "charge", func(context.Context, string) ([]byte, error) {
			if tries++; tries == 1 {
				return nil, idem.Transient(errCrash)
			}
			return []byte("ch_1"), nil
		})
		return &idem.Response{Status: 201, Body: charged}, err
	}
	_, err := store.Hold(b.ctx, b.key("k"), work)
	wantIs(t, err, errCrash)
	record, err := store.Lookup(b.ctx, b.key("k"))
	if err != nil || record.State != idem.StateReleased || len(record.Steps) != 1 || len(record.Begun()) != 0 {
		t.Fatalf("%+v, %v; want it given back with the one recorded step", record, err)
	}
	resp, err := store.Hold(b.ctx, b.key("k"), work)
	if err != nil || string(resp.Body) != "ch_1" || tries != 2 {
		t.Errorf("%+v, %v after %d tries", resp, err, tries)
	}
}

// A Transient of the second try speaks for that call alone: the first one's may have arrived.
func TestTransientDoesNotClearAnEarlierDoubt(t *testing.T) {
	b := setup(t)
	store := b.newStore(rerun)
	d := downstream{then: errCrash}
	work := func(ctx context.Context, l *idem.Lease) (*idem.Response, error) {
		_, err := l.Step(ctx, "charge", d.charge)
		return nil, err
	}
	_, err := store.Hold(b.ctx, b.key("k"), work)
	wantIs(t, err, errCrash)
	d.then = idem.Transient(errCrash)
	_, err = store.Hold(b.ctx, b.key("k"), work)
	wantIs(t, err, errCrash)
	record, err := store.Lookup(b.ctx, b.key("k"))
	if err != nil || record.State != idem.StateAbandoned || len(record.Begun()) != 1 {
		t.Errorf("%+v, %v; want it unknown", record, err)
	}
}

func TestReleaseAfterAStepLeavesTheKeyUnknown(t *testing.T) {
	b := setup(t)
	for name, then := range map[string]error{"recorded": nil, "begun": errCrash} {
		t.Run(name, func(t *testing.T) {
			b := b.on(t)
			d := downstream{then: then}
			lease := b.held(b.store, "k")
			_, err := lease.Step(b.ctx, "charge", d.charge)
			if !errors.Is(err, then) {
				t.Fatal(err)
			}
			wantIs(t, lease.Release(b.ctx), idem.ErrOutcomeUnknown)
			_, _, err = b.store.Claim(b.ctx, b.key("k"))
			wantIs(t, err, idem.ErrOutcomeUnknown)
		})
	}
}

func TestStepsOutOfOrderStartNothing(t *testing.T) {
	b := setup(t)
	store := b.newStore(rerun)
	type call struct {
		name string
		want error
	}
	for name, c := range map[string]struct{ first, second []call }{
		"another name":         {[]call{{"a", nil}}, []call{{"b", idem.ErrStepOrder}}},
		"turned round":         {[]call{{"a", nil}, {"b", nil}}, []call{{"b", idem.ErrStepOrder}}},
		"one left out":         {[]call{{"a", nil}, {"b", nil}, {"c", nil}}, []call{{"a", nil}, {"c", idem.ErrStepOrder}}},
		"one put in":           {[]call{{"a", nil}, {"b", nil}}, []call{{"a", nil}, {"x", idem.ErrStepOrder}, {"b", idem.ErrStepOrder}}},
		"twice":                {nil, []call{{"a", nil}, {"a", idem.ErrStepOrder}}},
		"nothing goes on":      {[]call{{"a", nil}}, []call{{"b", idem.ErrStepOrder}, {"a", idem.ErrStepOrder}}},
		"a new one at the end": {[]call{{"a", nil}}, []call{{"a", nil}, {"b", nil}}},
		"an empty name":        {nil, []call{{"", idem.ErrStepOrder}}},
		"a name with NUL":      {nil, []call{{"a\x00", idem.ErrStepOrder}}},
	} {
		t.Run(name, func(t *testing.T) {
			b := b.on(t)
			ran := map[string]int{}
			for _, calls := range [][]call{c.first, c.second} {
				lease := b.held(store, "k")
				for _, call := range calls {
					_, err := lease.Step(b.ctx, call.name, func(context.Context, string) ([]byte, error) {
						ran[call.name]++
						return nil, nil
					})
					if !errors.Is(err, call.want) || (err == nil) != (call.want == nil) {
						t.Errorf("%q: %v, want %v", call.name, err, call.want)
					}
				}
				if err := lease.Abandon(b.ctx); err != nil {
					t.Fatal(err)
				}
			}
			for name, n := range ran {
				if n != 1 || name == "x" {
					t.Errorf("step %q ran %d times", name, n)
				}
			}
		})
	}
}

func TestStepsRunOneByOneAndNotInsideATransaction(t *testing.T) {
	b := setup(t)
	nothing := func(context.Context, string) ([]byte, error) { return nil, nil }
	t.Run("two at once", func(t *testing.T) {
		b := b.on(t)
		lease := b.held(b.store, "k")
		_, err := lease.Step(b.ctx, "a", func(ctx context.Context, _ string) ([]byte, error) {
			_, err := lease.Step(ctx, "b", nothing)
			return nil, err
		})
		wantIs(t, err, idem.ErrStepOrder)
	})
	t.Run("in StepTx", func(t *testing.T) {
		b := b.on(t)
		lease := b.held(b.store, "k")
		_, err := lease.StepTx(b.ctx, "a", func(ctx context.Context, _ pgx.Tx) ([]byte, error) {
			return lease.Step(ctx, "b", nothing)
		})
		wantIs(t, err, idem.ErrStepOrder)
	})
	t.Run("in Do", func(t *testing.T) {
		b := b.on(t)
		lease := b.held(b.store, "k")
		_, err := b.store.Do(b.ctx, b.key("other"), func(ctx context.Context, _ pgx.Tx) (*idem.Response, error) {
			_, err := lease.Step(ctx, "a", nothing)
			return nil, err
		})
		wantIs(t, err, idem.ErrStepOrder)
	})
}

// That a step begins is on record before its call, in the write that extends the lease.
func TestStepBeginsOnRecordAndExtendsTheLease(t *testing.T) {
	b := setup(t)
	store, key := b.newStore(rerun), b.key("k")
	lease := b.held(store, "k")
	b.age(key, rerun.Lease-time.Second)
	_, err := lease.Step(b.ctx, "charge", func(context.Context, string) ([]byte, error) {
		record, err := store.Lookup(b.ctx, key)
		if err != nil || len(record.Begun()) != 1 || record.State != idem.StateHeld || time.Until(*record.LockedUntil) < rerun.Lease/2 {
			t.Errorf("%+v, %v", record, err)
		}
		return nil, nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// The call may have landed, but who lost the lease records nothing: the other run finds out.
func TestStepsOfADisplacedHolderChangeNothing(t *testing.T) {
	b := setup(t)
	store, rival := b.newStore(rerun), b.newStore(rerun)
	key := b.key("k")
	lease := b.held(store, "k")
	var d downstream
	_, err := lease.Step(b.ctx, "charge", func(ctx context.Context, k string) ([]byte, error) {
		b.age(key, 2*rerun.Lease)
		b.held(rival, "k")
		return d.charge(ctx, k)
	})
	wantIs(t, err, idem.ErrLeaseLost)
	record, err := store.Lookup(b.ctx, key)
	if err != nil || len(record.Begun()) != 1 {
		t.Errorf("%+v, %v; want the step begun and unrecorded", record, err)
	}
	_, err = lease.Step(b.ctx, "mail", d.charge)
	wantIs(t, err, idem.ErrLeaseLost)
	if d.total() != 1 || b.steps(key) != 1 {
		t.Errorf("%d effects, %d steps", d.total(), b.steps(key))
	}
}

func TestLapsedLeaseStartsItsNextStepOnceItIsExtended(t *testing.T) {
	b := setup(t)
	store, key := b.newStore(rerun), b.key("k")
	lease := b.held(store, "k")
	b.age(key, 2*rerun.Lease) // nobody took it
	var d downstream
	if _, err := lease.Step(b.ctx, "charge", d.charge); err != nil || d.total() != 1 {
		t.Errorf("%v, %d effects", err, d.total())
	}
}

func TestContextOfAStepEndsWithTheLease(t *testing.T) {
	b := setup(t)
	store := b.newStore(idem.Policy{Lease: 300 * time.Millisecond, Stale: idem.StaleRerun})
	lease := b.held(store, "k") // no heartbeat
	_, err := lease.Step(b.ctx, "charge", func(ctx context.Context, _ string) ([]byte, error) {
		<-ctx.Done()
		return nil, context.Cause(ctx)
	})
	wantIs(t, err, idem.ErrLeaseLost)
	t.Run("and goes on with the heartbeat", func(t *testing.T) {
		b := b.on(t)
		_, err := store.Hold(b.ctx, b.key("k"), func(ctx context.Context, l *idem.Lease) (*idem.Response, error) {
			_, err := l.Step(ctx, "charge", func(ctx context.Context, _ string) ([]byte, error) {
				select {
				case <-ctx.Done():
					return nil, context.Cause(ctx)
				case <-time.After(900 * time.Millisecond): // three leases
					return nil, nil
				}
			})
			return nil, err
		})
		if err != nil {
			t.Error(err)
		}
	})
}

func TestStepsOfAnEarlierLifeAreForgotten(t *testing.T) {
	b := setup(t)
	policy := idem.Policy{Retention: time.Hour, Lease: time.Minute}
	store, key := b.newStore(policy), b.key("k")
	var d downstream
	for range 2 {
		lease := b.held(store, "k")
		if _, err := lease.Step(b.ctx, "charge", d.charge); err != nil {
			t.Fatal(err)
		}
		if err := lease.Complete(b.ctx, created()); err != nil {
			t.Fatal(err)
		}
		b.age(key, 2*time.Hour)
	}
	if d.total() != 2 {
		t.Errorf("%d effects over two lives", d.total())
	}
}
