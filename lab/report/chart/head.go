package chart

import (
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// head is what stands above a picture's data: its title, what is measured, and a legend.
type head struct {
	title  string
	what   string // the unit, or what the upright axis means; empty: nothing
	legend []entry
}

// entry is a legend's.
type entry struct {
	label string
	// draw draws the sample, which has this much room from its middle to either side.
	draw func(c draw.Canvas, middle vg.Point)
}

const (
	sample     vg.Length = 9 // half of a legend's sample
	sampleGap  vg.Length = 5
	entryGap   vg.Length = 14
	legendLine vg.Length = 17
)

var (
	titleStyle  = write(large, "text", true)
	mutedStyle  = write(small, "muted", false)
	legendStyle = write(small, "text", false)
)

// draw draws the head from the top of the canvas down, and returns how much of it it takes. A canvas of nil is measured only.
func (h head) draw(c *draw.Canvas) vg.Length {
	down := vg.Length(0)
	line := func(height vg.Length, draw func(y vg.Length)) {
		down += height
		if c != nil {
			draw(c.Max.Y - down)
		}
	}
	for _, text := range breakLines(titleStyle, h.title, width) {
		line(large*1.3, func(y vg.Length) { c.FillText(titleStyle, vg.Point{Y: y}, text) })
	}
	for _, text := range breakLines(mutedStyle, h.what, width) {
		line(small*1.4, func(y vg.Length) { c.FillText(mutedStyle, vg.Point{Y: y}, text) })
	}
	for i, row := range h.rows() {
		height := legendLine
		if i == 0 {
			height += 4
		}
		line(height, func(y vg.Length) {
			x := vg.Length(0)
			for _, e := range row {
				e.draw(*c, vg.Point{X: x + sample, Y: y + small*0.36})
				c.FillText(legendStyle, vg.Point{X: x + 2*sample + sampleGap, Y: y}, e.label)
				x += e.width()
			}
		})
	}
	return down
}

func (e entry) width() vg.Length { return 2*sample + sampleGap + legendStyle.Width(e.label) + entryGap }

// rows are the legend's entries as they fit side by side.
func (h head) rows() [][]entry {
	var rows [][]entry
	left := vg.Length(0)
	for _, e := range h.legend {
		need := e.width() - entryGap
		if len(rows) == 0 || need > left {
			rows = append(rows, nil)
			left = width
		}
		rows[len(rows)-1] = append(rows[len(rows)-1], e)
		left -= e.width()
	}
	return rows
}
