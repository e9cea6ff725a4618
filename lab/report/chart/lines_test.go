package chart

import (
	"math"
	"slices"
	"strings"
	"testing"
)

func delays() Lines {
	return Lines{
		Title: "Duplicates by delay", X: "delay in ms", Y: "duplicates", LogX: true,
		Lines: []Line{
			{Label: "check-then-act", Points: []Point{{1, 20}, {5, 80}, {20, 216}, {100, 930}}, Tone: Bad},
			{Label: "claim", Points: []Point{{1, 0}, {5, 0}, {20, 0}, {100, 0}}, Tone: Good},
			{Label: "UUIDv4", Points: []Point{{1, 30}, {100, 83}}},
			{Label: "UUIDv7", Points: []Point{{1, 40}, {100, 43}}},
		},
	}
}

func TestLinesAreToldFromEachOther(t *testing.T) {
	t.Parallel()
	l := delays()
	seen := make(map[string]bool)
	for i, look := range l.looks() {
		class := look.line.Color.(ink).class()
		if seen[class] {
			t.Errorf("%s has the colour of another", l.Lines[i].Label)
		}
		seen[class] = true
	}
	if !seen["bad"] || !seen["good"] {
		t.Errorf("tones are not seen: %v", seen)
	}
	svg := drawn(t, l)
	for _, text := range []string{
		">check-then-act</text>", ">UUIDv7</text>", ">delay in ms</text>", ">duplicates</text>", `stroke-dasharray="6,3"`,
		"check-then-act: 20 at 1, 80 at 5",
	} {
		if !strings.Contains(svg, text) {
			t.Errorf("no %q in:\n%s", text, svg)
		}
	}
}

func TestLineOfManyPointsHasNoMarks(t *testing.T) {
	t.Parallel()
	const marks = ` class="f-line-1"`
	if l := delays(); !strings.Contains(drawn(t, l), marks) {
		t.Errorf("the marks are not where they were looked for")
	}
	many := Lines{Title: "Many", Lines: []Line{{Label: "rate"}}}
	for i := range 40 {
		many.Lines[0].Points = append(many.Lines[0].Points, Point{float64(i), float64(i % 7)})
	}
	if svg := drawn(t, many); strings.Contains(svg, marks) {
		t.Errorf("it has marks:\n%s", svg)
	}
}

func TestAxesAreLabelledWhereTheValuesAre(t *testing.T) {
	t.Parallel()
	svg := drawn(t, delays())
	for _, tick := range []string{"1", "5", "20", "100"} {
		if !strings.Contains(svg, `text-anchor="middle">`+tick+"</text>") {
			t.Errorf("the x axis has no %s:\n%s", tick, svg)
		}
	}
	for _, tick := range []string{"0", "200", "1,000"} {
		if !strings.Contains(svg, `text-anchor="end">`+tick+"</text>") {
			t.Errorf("the y axis has no %s:\n%s", tick, svg)
		}
	}
}

func TestTicksAreRound(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		values []float64
		log    bool
		want   []float64
	}{
		{"from 0", []float64{3, 930}, false, []float64{0, 200, 400, 600, 800, 1000}},
		{"small", []float64{0.012, 0.031}, false, []float64{0, 0.01, 0.02, 0.03, 0.04}},
		{"below 0", []float64{-3, 4}, false, []float64{-4, -2, 0, 2, 4}},
		{"one value", []float64{0}, false, []float64{0, 0.2, 0.4, 0.6, 0.8, 1}},
		{"decades", []float64{7, 40000}, true, []float64{1, 10, 100, 1000, 10000, 100000}},
		{"within two decades", []float64{12, 930}, true, []float64{10, 20, 50, 100, 200, 500, 1000}},
		{"on a tick", []float64{10, 100}, true, []float64{10, 20, 50, 100}},
	} {
		got := newScale(c.values, c.log).ticks
		if !slices.EqualFunc(got, c.want, func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestValuesTooCloseToEachOtherAreNotTicks(t *testing.T) {
	t.Parallel()
	if got := newScale([]float64{1, 5, 20, 100}, false).at([]float64{1, 5, 20, 100}).ticks; slices.Contains(got, 5) {
		t.Errorf("ticks %v", got)
	}
}

func TestLinesThatTheAxesCannotShowAreRefused(t *testing.T) {
	t.Parallel()
	for _, l := range []Lines{
		{Title: "empty"},
		{Title: "no points", Lines: []Line{{Label: "one"}}},
		{Title: "zero on a logarithmic axis", LogY: true, Lines: []Line{{Label: "one", Points: []Point{{1, 0}}}}},
		{Title: "not a number", Lines: []Line{{Label: "one", Points: []Point{{math.NaN(), 0}}}}},
	} {
		if _, err := l.SVG(); err == nil || !strings.Contains(err.Error(), l.Title) {
			t.Errorf("%s: error %v", l.Title, err)
		}
	}
}

func TestNumbersAreWrittenForPeople(t *testing.T) {
	t.Parallel()
	for v, want := range map[float64]string{
		0: "0", 7: "7", 12637: "12,637", 1234567: "1,234,567", -4000: "-4,000",
		216.4: "216", 99.96: "100", 2.5: "2.5", 0.12345: "0.123", 1e-7: "1e-07",
	} {
		if got := number(v); got != want {
			t.Errorf("%g is %q, want %q", v, got, want)
		}
	}
}
