package trials

import "testing"

func TestSpreadIsWrittenWithItsEnds(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Spread{3881.4, 3789.6, 12012}.Whole(), "3,881 (3,790–12,012)"},
		{Spread{4000, 4000, 4000}.Whole(), "4,000"},
		{Spread{4.1, 4, 4.2}.Whole(), "4"}, // nothing but the rounding differs
		{Spread{0, 0, 0}.Whole(), "0"},
		{Spread{2.954, 2.8, 3.1}.Decimal(), "2.95 (2.80–3.10)"},
		{Spread{1, 1, 1}.Decimal(), "1.00"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}
