package idem_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDoReplaysTheFirstAnswer(t *testing.T) {
	b := setup(t)
	first, err := b.store.Do(b.ctx, b.key("k"), charge("k"))
	if err != nil {
		t.Fatal(err)
	}
	again, err := b.store.Do(b.ctx, b.key("k"), mustNotRun(t))
	if err != nil {
		t.Fatal(err)
	}
	if !again.Replayed || first.Replayed {
		t.Errorf("Replayed: first %v, again %v; want false, true", first.Replayed, again.Replayed)
	}
	again.Replayed = false
	if diff := cmp.Diff(first, again); diff != "" {
		t.Errorf("replay differs from the first answer (-first +again):\n%s", diff)
	}
	if n := b.charges("k"); n != 1 {
		t.Errorf("%d charges, want 1", n)
	}
}
