package design

import (
	"fmt"
	"testing"
	"time"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/internal/processor"
)

// A request that has been sent is carried out, and who asks about it meanwhile learns what the processor can say.
func TestCallThatLandsLate(t *testing.T) {
	b := setupBench(t)
	for _, c := range []struct {
		asked processor.Asked
		want  idem.Verdict
	}{{processor.AskedPending, idem.Pending}, {processor.AskedLanded, idem.Nothing}} {
		store := b.store(t, idem.Policy{})
		p := keyed(fmt.Sprintf("late-%d", c.want))
		behaviour := processor.Behaviour{Repeat: processor.RepeatCharge, Asked: c.asked, Hold: true}
		if err := b.card.Become(behaviour); err != nil {
			t.Fatal(err)
		}
		sent, over, returned := make(chan struct{}), make(chan struct{}), make(chan error)
		d := HoldOutside{Store: store, Card: NewCard(b.url, func(Point) { close(sent); <-over })}
		go func() {
			_, err := d.Pay(t.Context(), p)
			returned <- err
		}()
		<-sent
		for {
			stats, err := b.card.Stats(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if stats.Pending == 1 {
				break
			}
			time.Sleep(time.Millisecond)
		}
		record, err := store.Lookup(t.Context(), keyOf(p))
		if err != nil {
			t.Fatal(err)
		}
		asker := NewCard(b.url, nil)
		if got, _, err := asker.Resolve(t.Context(), record); err != nil || got != c.want {
			t.Errorf("while it is held: verdict %v, %v; want %v", got, err, c.want)
		}
		behaviour.Hold = false
		if err := b.card.Become(behaviour); err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
			got, answer, err := asker.Resolve(t.Context(), record)
			if got == idem.Found && err == nil && len(answer.Body) > 0 {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("it never lands: verdict %v, %v", got, err)
			}
		}
		if err := b.card.Become(processor.Behaviour{Asked: processor.AskedRefuse}); err != nil {
			t.Fatal(err)
		}
		if got, _, err := asker.Resolve(t.Context(), record); err == nil || got != idem.Pending {
			t.Errorf("of one that cannot be asked: verdict %v, %v; want an error", got, err)
		}
		close(over)
		if err := <-returned; err != nil {
			t.Error(err)
		}
	}
}
