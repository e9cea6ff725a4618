package chart

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

func storm() Bars {
	return Bars{
		Title: "Charges for 1,000 payments <each sent five times>", Unit: "charges",
		Bars: []Bar{
			{Label: "no key", Value: 4000, Article: 2000, Tone: Bad},
			{Label: "check-then-act", Value: 1000, Low: 900, High: 1200},
			{Label: "Redis", Text: "skipped: no redis-server", Tone: Skipped},
			{Label: "the article's claim", Value: 500, Tone: Article},
			{Label: "pgidem & others", Value: 0, Tone: Good},
		},
	}
}

func TestBarsAreAsLongAsTheirValues(t *testing.T) {
	t.Parallel()
	svg := drawn(t, storm())
	length := func(class string) float64 {
		m := regexp.MustCompile(`d="M0,[0-9.]+L([0-9.]+),[^"]*" class="` + class + `"`).FindStringSubmatch(svg)
		if m == nil {
			t.Fatalf("no bar of %s in:\n%s", class, svg)
		}
		v, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	if most, least := length("f-bad"), length("f-plain"); math.Abs(most-4*least) > 0.1 {
		t.Errorf("4,000 is %g long, 1,000 is %g", most, least)
	}
	if none := length("f-good"); none != stub.Points() {
		t.Errorf("0 is %g long", none)
	}
}

func TestBarsSayWhatTheyMean(t *testing.T) {
	t.Parallel()
	svg := drawn(t, storm())
	for _, text := range []string{
		">Charges for 1,000 payments &lt;each sent five</text>", ">charges</text>", ">article</text>", ">spread</text>",
		">no key</text>", ">4,000</text>", ">check-then-act</text>", ">1,000</text>", ">skipped: no redis-server</text>",
		">pgidem &amp; others</text>", ">0</text>", `role="img"`, `aria-label="Charges for`, "no key: 4,000 (article: 2,000)",
		"check-then-act: 1,000 (900 to 1,200)",
	} {
		if !strings.Contains(svg, text) {
			t.Errorf("no %q in:\n%s", text, svg)
		}
	}
	plain := drawn(t, Bars{Title: "Charges", Bars: []Bar{{Label: "no key", Value: 5, Text: "five"}}})
	for _, text := range []string{"article", "spread"} {
		if strings.Contains(plain, text) {
			t.Errorf("it explains %s, which does not occur:\n%s", text, plain)
		}
	}
	if !strings.Contains(plain, ">five</text>") {
		t.Errorf("the value is not as it is to be written:\n%s", plain)
	}
}

func TestTheArticlesFigureIsHollow(t *testing.T) {
	t.Parallel()
	svg := drawn(t, Bars{Title: "Charges", Bars: []Bar{{Label: "their claim", Value: 5, Tone: Article}}})
	if strings.Contains(svg, `class="f-plain"`) || !strings.Contains(svg, `class="s-text" stroke-width="1.2"`) {
		t.Errorf("their bar is filled:\n%s", svg)
	}
	svg = drawn(t, Bars{Title: "Charges", Bars: []Bar{{Label: "a claim", Value: 5, Article: 3}}})
	if got := strings.Count(svg, `class="s-text" stroke-width="1.4"`); got != 2 { // of the bar, and of the legend
		t.Errorf("%d marks:\n%s", got, svg)
	}
}

func TestLongValueStandsBelowItsBar(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a value of words ", 5)
	bars := Bars{Title: "Charges", Bars: []Bar{{Label: "one", Value: 5, Text: long}, {Label: "two", Value: 10, Text: "ten"}}}
	p, err := bars.picture()
	if err != nil {
		t.Fatal(err)
	}
	bars.Bars[0].Text = "five dollars of ten"
	short, err := bars.picture()
	if err != nil {
		t.Fatal(err)
	}
	if p.height <= short.height {
		t.Errorf("it is %g high, and %g with a short value", p.height, short.height)
	}
}

func TestBarsOfNothingSensibleAreRefused(t *testing.T) {
	t.Parallel()
	for _, b := range []Bars{
		{Title: "empty"},
		{Title: "negative", Bars: []Bar{{Label: "one", Value: -1}}},
		{Title: "not a number", Bars: []Bar{{Label: "one", Value: math.NaN()}}},
		{Title: "endless", Bars: []Bar{{Label: "one", Value: 1, High: math.Inf(1)}}},
	} {
		if _, err := b.SVG(); err == nil || !strings.Contains(err.Error(), b.Title) {
			t.Errorf("%s: error %v", b.Title, err)
		}
	}
}

func drawn(t *testing.T, c Chart) string {
	t.Helper()
	svg, err := c.SVG()
	if err != nil {
		t.Fatal(err)
	}
	return svg
}
