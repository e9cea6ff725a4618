package chart

import (
	"fmt"
	"math"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// SVG draws the bars. Nothing may be negative.
func (b Bars) SVG() (string, error) { return svg(b) }

func (b Bars) picture() (picture, error) {
	if len(b.Bars) == 0 {
		return picture{}, fmt.Errorf("chart %q: it has no bars", b.Title)
	}
	for _, bar := range b.Bars {
		for _, v := range []float64{bar.Value, bar.Low, bar.High, bar.Article} {
			if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
				return picture{}, fmt.Errorf("chart %q: %s is %g; a bar is finite and not negative", b.Title, bar.Label, v)
			}
		}
	}
	top := head{title: b.Title, what: b.Unit, legend: b.legend()}
	rows := newRows(b.Bars)
	headHeight := top.draw(nil) + 8
	return picture{
		title:   b.Title,
		content: b.content(),
		height:  headHeight + rows.height(),
		draw: func(c draw.Canvas) {
			top.draw(&c)
			p := plot.New()
			p.BackgroundColor = nil
			p.HideAxes()
			p.X.Padding, p.Y.Padding = 0, 0
			p.Add(rows)
			p.Draw(draw.Crop(c, 0, 0, 0, -headHeight))
		},
	}, nil
}

// legend explains the marks that occur.
func (b Bars) legend() []entry {
	var article, spread bool
	for _, bar := range b.Bars {
		article = article || bar.Article > 0
		spread = spread || bar.spread()
	}
	var entries []entry
	if article {
		entries = append(entries, entry{"article", drawArticle})
	}
	if spread {
		entries = append(entries, entry{"spread", func(c draw.Canvas, m vg.Point) { drawWhisker(c, m.X-sample+1, m.X+sample-1, m.Y) }})
	}
	return entries
}

func (b Bar) spread() bool { return b.Low != 0 || b.High != 0 }

// text is the value as it is written.
func (b Bar) text() string {
	switch {
	case b.Text != "":
		return b.Text
	case b.Tone == Skipped:
		return "skipped"
	}
	return number(b.Value)
}

// content says the bars in words.
func (b Bars) content() string {
	words := make([]string, len(b.Bars))
	for i, bar := range b.Bars {
		words[i] = bar.Label + ": " + bar.text()
		if bar.spread() {
			words[i] += fmt.Sprintf(" (%s to %s)", number(bar.Low), number(bar.High))
		}
		if bar.Article > 0 {
			words[i] += fmt.Sprintf(" (article: %s)", number(bar.Article))
		}
	}
	unit := b.Unit
	if unit != "" {
		unit += ": "
	}
	return unit + strings.Join(words, "; ") + "."
}
