package chart

import (
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// rows is a plotter of bars under their labels. On its y axis a unit is a point, from the bottom.
type rows struct {
	bars   []Bar
	labels [][]string // lines of each label
	below  [][]string // lines of each value that is too long to stand behind its bar
	most   float64    // what the whole width would be worth
}

const (
	labelLine vg.Length = 16 // a line of a label
	barHeight vg.Length = 11
	belowLine vg.Length = 14 // a line below a bar
	rowGap    vg.Length = 12
	valueGap  vg.Length = 5 // between a bar and its value
	stub      vg.Length = 2 // a bar of 0
	markSize  vg.Length = 4.5
	beside              = valueGap + 2*markSize // what a bar needs besides its value
	maxValue  vg.Length = 0.45                  // of the width: the room that a value may take from the bars
)

var (
	labelStyle   = write(middle, "text", false)
	valueStyle   = write(middle, "text", true)
	skippedStyle = write(middle, "muted", false)
)

func newRows(bars []Bar) rows {
	r := rows{bars: bars, labels: make([][]string, len(bars)), below: make([][]string, len(bars))}
	for i, b := range bars {
		r.labels[i] = breakLines(labelStyle, b.Label, width)
		if value := b.style().Width(b.text()); value <= maxValue*width {
			room := (width - value - beside).Points()
			r.most = max(r.most, b.end()*width.Points()/room)
		}
		r.most = max(r.most, b.end()*width.Points()/(width-beside).Points())
	}
	if r.most == 0 {
		r.most = 1
	}
	for i, b := range bars {
		end := vg.Length(b.end()/r.most) * width
		if end+beside+b.style().Width(b.text()) > width+0.01 { // what has set the scale fits, but for how floats are rounded
			r.below[i] = breakLines(b.style(), b.text(), width)
		}
	}
	return r
}

// end is how far the row's bar and marks go.
func (b Bar) end() float64 { return max(b.Value, b.High, b.Article) }

func (b Bar) style() draw.TextStyle {
	if b.Tone == Skipped {
		return skippedStyle
	}
	return valueStyle
}

func (r rows) rowHeight(i int) vg.Length {
	return labelLine*vg.Length(len(r.labels[i])) + barHeight + belowLine*vg.Length(len(r.below[i])) + rowGap
}

func (r rows) height() vg.Length {
	sum := -rowGap + 3 // what hangs below the last line
	for i := range r.bars {
		sum += r.rowHeight(i)
	}
	return sum
}

// DataRange is the whole canvas.
func (r rows) DataRange() (xmin, xmax, ymin, ymax float64) { return 0, r.most, 0, r.height().Points() }

// Plot draws the rows from the top down.
func (r rows) Plot(c draw.Canvas, p *plot.Plot) {
	c.Min.X = 0 // and not -0
	x, y := p.Transforms(&c)
	top := r.height()
	for i := range r.bars {
		r.row(i, c, x, func(down vg.Length) vg.Length { return y((top - down).Points()) })
		top -= r.rowHeight(i)
	}
}

// row draws a row; y is how far down in it something is.
func (r rows) row(i int, c draw.Canvas, x func(float64) vg.Length, y func(vg.Length) vg.Length) {
	b := r.bars[i]
	down := vg.Length(0)
	for _, line := range r.labels[i] {
		down += labelLine
		c.FillText(labelStyle, vg.Point{X: c.Min.X, Y: y(down - 4.5)}, line)
	}
	upper, lower := y(down), y(down+barHeight)
	centre := (upper + lower) / 2
	end := x(b.Value)
	if b.Tone != Skipped {
		end = max(end, c.Min.X+stub)
		b.draw(c, vg.Rectangle{Min: vg.Point{X: c.Min.X, Y: lower}, Max: vg.Point{X: end, Y: upper}})
		end += valueGap
	}
	if b.spread() {
		drawWhisker(c, x(b.Low), x(b.High), centre)
		end = max(end, x(b.High)+valueGap)
	}
	if b.Article > 0 {
		mark := max(x(b.Article), c.Min.X+markSize+1)
		drawArticle(c, vg.Point{X: mark, Y: centre})
		if before := mark - markSize - valueGap; end+b.style().Width(b.text()) > before && mark+markSize+valueGap > end {
			end = mark + markSize + valueGap
		}
	}
	if len(r.below[i]) == 0 {
		c.FillText(b.style(), vg.Point{X: end, Y: centre - middle*0.36}, b.text())
	}
	for n, line := range r.below[i] {
		c.FillText(b.style(), vg.Point{X: c.Min.X, Y: y(down + barHeight + belowLine*vg.Length(n+1) - 2)}, line)
	}
}

// draw draws the bar itself; the article's is hollow.
func (b Bar) draw(c draw.Canvas, r vg.Rectangle) {
	if b.Tone == Article {
		const line = 1.2
		in := vg.Point{X: line / 2, Y: line / 2}
		hollow := vg.Rectangle{Min: r.Min.Add(in), Max: r.Max.Sub(in)}
		c.SetLineStyle(draw.LineStyle{Color: inkOf("text"), Width: line})
		c.Stroke(hollow.Path())
		return
	}
	class := "plain"
	switch b.Tone {
	case Good, Bad:
		class = string(b.Tone)
	}
	c.SetColor(inkOf(class))
	c.Fill(r.Path())
}

// drawWhisker draws a spread, with an edge of paper so that it is seen on the bar too.
func drawWhisker(c draw.Canvas, low, high, y vg.Length) {
	const cap = 3.5
	lines := [][]vg.Point{
		{{X: low, Y: y}, {X: high, Y: y}},
		{{X: low, Y: y - cap}, {X: low, Y: y + cap}},
		{{X: high, Y: y - cap}, {X: high, Y: y + cap}},
	}
	c.StrokeLines(draw.LineStyle{Color: inkOf("paper"), Width: 3.4}, lines...)
	c.StrokeLines(draw.LineStyle{Color: inkOf("text"), Width: 1.3}, lines...)
}

// drawArticle draws the mark of the article's figure, hollow.
func drawArticle(c draw.Canvas, m vg.Point) {
	var path vg.Path
	path.Move(vg.Point{X: m.X - markSize, Y: m.Y})
	path.Line(vg.Point{X: m.X, Y: m.Y + markSize})
	path.Line(vg.Point{X: m.X + markSize, Y: m.Y})
	path.Line(vg.Point{X: m.X, Y: m.Y - markSize})
	path.Close()
	c.SetColor(inkOf("paper"))
	c.Fill(path)
	c.SetLineStyle(draw.LineStyle{Color: inkOf("text"), Width: 1.4})
	c.Stroke(path)
}
