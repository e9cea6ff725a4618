package chart

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strings"
	"testing"
)

func TestStandaloneBringsItsColours(t *testing.T) {
	t.Parallel()
	for _, c := range []Chart{storm(), delays()} {
		file, err := Standalone(c)
		if err != nil {
			t.Fatal(err)
		}
		wellFormed(t, file)
		for _, text := range []string{
			`xmlns="http://www.w3.org/2000/svg"`, "<title>", "<desc>", "@media (prefers-color-scheme:dark)", "system-ui",
		} {
			if !strings.Contains(file, text) {
				t.Errorf("no %q in:\n%s", text, file)
			}
		}
		for _, class := range regexp.MustCompile(`class="([fs]-[a-z0-9-]+)`).FindAllStringSubmatch(file, -1) {
			if strings.Count(file, ".chart ."+class[1]+"{") != 2 {
				t.Errorf("%s has no colour by day and by night", class[1])
			}
		}
		if strings.Contains(file, "var(") || strings.Contains(file, "<rect") {
			t.Errorf("it needs a page, or paints one:\n%s", file)
		}
		again, err := Standalone(c)
		if err != nil || again != file {
			t.Errorf("drawn again, it is another file: %v", err)
		}
	}
}

func TestNoColourOfTheLibraryIsLeft(t *testing.T) {
	t.Parallel()
	for _, c := range []Chart{storm(), delays()} {
		svg := drawn(t, c)
		wellFormed(t, svg)
		if left := regexp.MustCompile(`#[0-9A-F]{6}|Liberation|style=`).FindString(svg); left != "" {
			t.Errorf("%s is left in:\n%s", left, svg)
		}
	}
}

func TestADocumentOfAnotherShapeIsRefused(t *testing.T) {
	t.Parallel()
	for _, svg := range []string{
		"<svg></svg>",
		"<svg xmlns:xlink=\"http://www.w3.org/1999/xlink\">\n<path style=\"fill:#FF0000\"/></svg>\n",
	} {
		if _, err := rewrite(svg); err == nil {
			t.Errorf("no error for %s", svg)
		}
	}
}

func TestColoursCanBeReadOnTheirPaper(t *testing.T) {
	t.Parallel()
	paper := roles[0]
	for _, r := range roles[1:] {
		least := 3.0 // of WCAG 2, for what is drawn
		switch r.class {
		case "text", "muted", "good", "bad":
			least = 4.5 // for text
		case "rule":
			continue // an ornament
		}
		if got := contrast(t, r.light, paper.light); got < least {
			t.Errorf("%s has a contrast of %.2f by day", r.class, got)
		}
		if got := contrast(t, r.dark, paper.dark); got < least {
			t.Errorf("%s has a contrast of %.2f by night", r.class, got)
		}
	}
}

func contrast(t *testing.T, one, other string) float64 {
	t.Helper()
	luminance := func(colour string) float64 {
		var rgb [3]int
		if _, err := fmt.Sscanf(colour, "#%02x%02x%02x", &rgb[0], &rgb[1], &rgb[2]); err != nil {
			t.Fatalf("%s: %v", colour, err)
		}
		sum := 0.0
		for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
			c := float64(rgb[i]) / 255
			if c <= 0.04045 {
				c /= 12.92
			} else {
				c = math.Pow((c+0.055)/1.055, 2.4)
			}
			sum += weight * c
		}
		return sum
	}
	a, b := luminance(one), luminance(other)
	return (max(a, b) + 0.05) / (min(a, b) + 0.05)
}

func wellFormed(t *testing.T, text string) {
	t.Helper()
	for d := xml.NewDecoder(strings.NewReader(text)); ; {
		switch _, err := d.Token(); {
		case errors.Is(err, io.EOF):
			return
		case err != nil:
			t.Fatalf("%v in:\n%s", err, text)
		}
	}
}
