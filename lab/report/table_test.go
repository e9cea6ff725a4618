package report

import (
	"strings"
	"testing"
)

func TestNumbers(t *testing.T) {
	for n, want := range map[int]string{0: "0", 7: "7", 999: "999", 1000: "1,000", 54321: "54,321", 1234567: "1,234,567"} {
		if got := Number(n); got != want {
			t.Errorf("Number(%d) = %s, want %s", n, got, want)
		}
	}
	for cents, want := range map[int64]string{0: "$0.00", 5: "$0.05", 49_00: "$49.00", 9000_50: "$9,000.50"} {
		if got := Dollars(cents); got != want {
			t.Errorf("Dollars(%d) = %s, want %s", cents, got, want)
		}
	}
}

func TestList(t *testing.T) {
	for want, items := range map[string][]string{"": nil, "a": {"a"}, "a and b": {"a", "b"}, "a, b and c": {"a", "b", "c"}} {
		if got := List(items); got != want {
			t.Errorf("List(%q) = %q, want %q", items, got, want)
		}
	}
}

func TestWrapBreaksBetweenWords(t *testing.T) {
	text := strings.Repeat("twelve words of a text that has more than one line in it ", 4)
	wrapped := wrap(text)
	if strings.Join(strings.Fields(wrapped), " ") != strings.TrimSpace(text) {
		t.Errorf("words are lost: %q", wrapped)
	}
	for _, line := range strings.Split(wrapped, "\n") {
		if len(line) > 80 || strings.TrimSpace(line) != line {
			t.Errorf("bad line %q", line)
		}
	}
	if n := strings.Count(wrapped, "\n"); n != 2 {
		t.Errorf("%d breaks in 227 columns, want 2", n)
	}
}
