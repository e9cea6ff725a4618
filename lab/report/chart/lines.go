package chart

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// SVG draws the lines, each with a mark and a dash of its own, so that it is told from others without its colour.
func (l Lines) SVG() (string, error) { return svg(l) }

const plotHeight vg.Length = 220 // axes and their words included

func (l Lines) picture() (picture, error) {
	if err := l.check(); err != nil {
		return picture{}, fmt.Errorf("chart %q: %w", l.Title, err)
	}
	looks := l.looks()
	top := head{title: l.Title, what: l.Y}
	for i, line := range l.Lines {
		top.legend = append(top.legend, entry{line.Label, looks[i].sample})
	}
	headHeight := top.draw(nil) + 8
	return picture{
		title:   l.Title,
		content: l.content(),
		height:  headHeight + plotHeight,
		draw: func(c draw.Canvas) {
			top.draw(&c)
			l.plot(looks).Draw(draw.Crop(c, 0, 0, 0, -headHeight))
		},
	}, nil
}

func (l Lines) check() error {
	if len(l.Lines) == 0 {
		return errors.New("it has no lines")
	}
	for _, line := range l.Lines {
		if len(line.Points) == 0 {
			return fmt.Errorf("%s has no points", line.Label)
		}
		for _, p := range line.Points {
			if math.IsNaN(p.X+p.Y) || math.IsInf(p.X+p.Y, 0) || l.LogX && p.X <= 0 || l.LogY && p.Y <= 0 {
				return fmt.Errorf("%s has a point (%g, %g) that its axes cannot show", line.Label, p.X, p.Y)
			}
		}
	}
	return nil
}

func (l Lines) plot(looks []look) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	var xs, ys []float64
	for _, line := range l.Lines {
		for _, point := range line.Points {
			xs, ys = append(xs, point.X), append(ys, point.Y)
		}
	}
	style := func(a *plot.Axis, s scale) {
		s.apply(a)
		a.LineStyle = draw.LineStyle{Color: inkOf("muted"), Width: 0.8}
		a.Tick.LineStyle, a.Tick.Length = a.LineStyle, 3
		for _, t := range []*draw.TextStyle{&a.Tick.Label, &a.Label.TextStyle} {
			t.Font, t.Color, t.Handler = mutedStyle.Font, mutedStyle.Color, mutedStyle.Handler
		}
	}
	style(&p.X, newScale(xs, l.LogX).at(xs))
	style(&p.Y, newScale(ys, l.LogY).round())
	p.X.Padding, p.Y.Padding = 4, 4
	p.X.Label.Text, p.X.Label.Padding = l.X, 2
	p.Y.LineStyle.Width, p.Y.Tick.LineStyle.Width = 0, 0

	grid := plotter.NewGrid()
	grid.Vertical.Width = 0
	grid.Horizontal = draw.LineStyle{Color: inkOf("rule"), Width: 0.8}
	p.Add(grid)
	for i, line := range l.Lines {
		p.Add(curve{line.Points, looks[i]})
	}
	return p
}

// content says the lines in words.
func (l Lines) content() string {
	words := make([]string, len(l.Lines))
	for i, line := range l.Lines {
		points := make([]string, len(line.Points))
		for j, p := range line.Points {
			points[j] = number(p.Y) + " at " + number(p.X)
		}
		words[i] = line.Label + ": " + strings.Join(points, ", ")
	}
	return l.Y + " by " + l.X + ". " + strings.Join(words, "; ") + "."
}

// curve is a plotter of one line.
type curve struct {
	points []Point
	look
}

// Plot draws the line and its marks.
func (l curve) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	points := make([]vg.Point, len(l.points))
	for i, point := range l.points {
		points[i] = vg.Point{X: x(point.X), Y: y(point.Y)}
	}
	c.StrokeLines(l.line, points)
	for _, at := range points {
		l.mark(c, at)
	}
}
