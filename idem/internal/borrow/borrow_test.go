package borrow

import "testing"

func TestMarkIsForItsOwnKey(t *testing.T) {
	t.Parallel()
	ctx := Body(t.Context(), "T1", "POST /charges", "k")
	if !IsBody(ctx, "T1", "POST /charges", "k") {
		t.Error("the call's own key is not marked")
	}
	for _, other := range [][3]string{{"T2", "POST /charges", "k"}, {"T1", "POST /refunds", "k"}, {"T1", "POST /charges", "k2"}} {
		if IsBody(ctx, other[0], other[1], other[2]) {
			t.Errorf("%q is marked too", other)
		}
	}
	if IsBody(t.Context(), "", "", "") {
		t.Error("a context without a mark has one")
	}
}
