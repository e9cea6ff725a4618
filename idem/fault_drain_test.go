package idem_test

import (
	"context"
	"testing"
	"time"

	"github.com/pgidem/pgidem/idem"
)

// drain drains store, whose running work is not over within the grace.
func (b *bundle) drain(store *idem.Store) {
	b.t.Helper()
	grace, cancel := context.WithTimeout(b.ctx, 20*time.Millisecond)
	defer cancel()
	if err := store.Drain(grace); err == nil {
		b.t.Error("Drain does not say that work was cut off")
	}
}

// Work that is cut off and has its answer all the same: if no other process has the key by then, the answer is recorded, and the
// client, whom nobody else would answer, has it.
func TestAnswerThatComesAfterDrainIsRecorded(t *testing.T) {
	b := setup(t)
	policy := idem.Policy{Lease: time.Minute, Wait: -1} // StaleRefuse: else it would be an operator's
	store, next := b.newStore(policy), b.newStore(policy)
	resp, err := store.Hold(b.ctx, b.key("k"), func(context.Context, *idem.Lease) (*idem.Response, error) {
		b.drain(store)
		if record, err := next.Lookup(b.ctx, b.key("k")); err != nil || record.State != idem.StateAbandoned {
			t.Errorf("after Drain the key is %+v, %v; want it abandoned", record, err)
		}
		return created(), nil
	})
	if err != nil || resp.Status != 201 || resp.Replayed {
		t.Errorf("got %+v, %v; want the answer", resp, err)
	}
	if again, err := next.Hold(b.ctx, b.key("k"), holdMustNotRun(t)); err != nil || !again.Replayed {
		t.Errorf("the retry got %+v, %v; want a replay", again, err)
	}
}

// A step that is under way when the process is drained is recorded when it ends, and takes nothing back from the next process,
// which goes on at once, with its output. No other step begins.
func TestStepThatEndsAfterDrainIsRecordedAndExtendsNothing(t *testing.T) {
	b := setup(t)
	policy := idem.Policy{Lease: time.Minute, Wait: -1, Stale: idem.StaleRerun}
	store, next := b.newStore(policy), b.newStore(policy)
	charge := func(ctx context.Context, l *idem.Lease, meanwhile func()) ([]byte, error) {
		return l.Step(ctx, "charge", func(context.Context, string) ([]byte, error) {
			b.exec("INSERT INTO charges (key) VALUES ('k')")
			meanwhile()
			return []byte("ch_1"), nil
		})
	}
	resumed := false
	_, err := store.Hold(b.ctx, b.key("k"), func(ctx context.Context, l *idem.Lease) (*idem.Response, error) {
		if _, err := charge(context.WithoutCancel(ctx), l, func() { b.drain(store) }); err != nil {
			t.Errorf("the step that was under way: %v", err)
		}
		_, err := l.Step(context.WithoutCancel(ctx), "mail", func(context.Context, string) ([]byte, error) { return nil, nil })
		wantIs(t, err, idem.ErrLeaseLost)
		_, err = next.Hold(b.ctx, b.key("k"), func(ctx context.Context, l *idem.Lease) (*idem.Response, error) {
			resumed = true
			output, err := charge(ctx, l, func() { t.Error("the step ran again") })
			if string(output) != "ch_1" {
				t.Errorf("the step is %q, want ch_1", output)
			}
			return created(), err
		})
		return nil, err
	})
	if err != nil || !resumed {
		t.Errorf("the next process does not go on at once: %v", err)
	}
	if n := b.charges("k"); n != 1 {
		t.Errorf("%d charges, want 1", n)
	}
}
