package timeout

import "testing"

func TestLatePhones(t *testing.T) {
	t.Parallel()
	b := setup(t)
	few := &Timeout{Payments: 4}
	r := few.result()
	if err := few.late(t.Context(), b.stage, r); err != nil {
		t.Fatal(err)
	}
	t.Run("AKeyIsLostWhenItsRetentionIsOver", func(t *testing.T) {
		rows := 0
		for _, l := range r.Late {
			if l.MaxAgeHours > 0 {
				continue
			}
			rows++
			again := 0
			if l.AfterHours > l.RetentionHours {
				again = 4
			}
			if l.Payments != 4 || l.Again != again || l.Swept != again || l.Replayed != 4-again || l.NotSent != 0 {
				t.Errorf("%+v, want %d swept and charged again, the rest replayed", l, again)
			}
		}
		if rows != 2*len(hours) {
			t.Errorf("%d rows, want %d", rows, 2*len(hours))
		}
	})
	t.Run("AClientThatKnowsTheAgeOfItsKeyDoesNotSendIt", func(t *testing.T) {
		for _, l := range []LateRow{r.lateAt(24, 23, 25), r.lateAt(24, 23, 73), r.lateAt(72, 71, 73)} {
			if l.NotSent != 4 || l.Again != 0 || l.Replayed != 0 {
				t.Errorf("%+v, want 4 not sent", l)
			}
		}
		if l := r.lateAt(72, 71, 25); l.NotSent != 0 || l.Replayed != 4 || l.Again != 0 {
			t.Errorf("%+v, want 4 replayed", l)
		}
	})
	if err := few.carts(t.Context(), b.stage, r); err != nil {
		t.Fatal(err)
	}
	t.Run("AStaleKeyResurrectsACart", func(t *testing.T) {
		for _, c := range []CartRow{r.cart(72, 0, 48), r.cart(72, 0, 12), r.cart(24, 0, 12)} {
			if c.Carts != 4 || c.Resurrected != 4 || c.Refused != 0 || c.NotSent != 0 || c.Again != 0 {
				t.Errorf("%+v, want 4 told that they bought a cart which is cancelled", c)
			}
		}
	})
	t.Run("AKeyThatIsGoneOrNotSentResurrectsNone", func(t *testing.T) {
		if c := r.cart(24, 0, 48); c.Refused != 4 || c.Resurrected != 0 || c.Again != 0 {
			t.Errorf("%+v, want 4 told that the cart is gone", c)
		}
		if c := r.cart(72, 23, 48); c.NotSent != 4 || c.Resurrected != 0 {
			t.Errorf("%+v, want 4 not sent", c)
		}
	})
	wantAll(t, r.lateFindings())
	b.wantShown(t, 2)
}
