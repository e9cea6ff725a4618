package trials

import "testing"

func TestSpreadIsTheMiddleAndTheEnds(t *testing.T) {
	for _, c := range []struct {
		figures []float64
		want    Spread
	}{
		{[]float64{7}, Spread{7, 7, 7}},
		{[]float64{4, 1}, Spread{2.5, 1, 4}},
		{[]float64{9, 1, 2}, Spread{2, 1, 9}}, // the mean would be 4
		{[]float64{8, 2, 100, 4}, Spread{6, 2, 100}},
	} {
		before := append([]float64(nil), c.figures...)
		if got := SpreadOf(c.figures); got != c.want {
			t.Errorf("%v: %+v, want %+v", c.figures, got, c.want)
		}
		for i, f := range before {
			if c.figures[i] != f {
				t.Fatalf("%v became %v", before, c.figures)
			}
		}
	}
}

func TestRatioIsTakenRoundByRound(t *testing.T) {
	a, b := []float64{20, 10, 300}, []float64{10, 10, 100} // the machine was fast in the third round, for both
	if got, want := Ratio(a, b), (Spread{2, 1, 3}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestFiguresKeepTheirOrder(t *testing.T) {
	got := Figures([]string{"ccc", "a"}, func(s string) float64 { return float64(len(s)) })
	if len(got) != 2 || got[0] != 3 || got[1] != 1 {
		t.Errorf("%v, want 3, 1", got)
	}
}
