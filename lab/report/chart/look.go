package chart

import (
	"fmt"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// look is what a line looks like.
type look struct {
	line  draw.LineStyle
	shape draw.GlyphDrawer // of its marks; nil: it has too many points for marks
}

const maxMarks = 15 // of a line

var (
	dashes = [][]vg.Length{nil, {6, 3}, {1.5, 3}, {8, 3, 1.5, 3}, {3, 2}, {10, 4}}
	shapes = []draw.GlyphDrawer{draw.CircleGlyph{}, draw.BoxGlyph{}, draw.PyramidGlyph{}}
)

// looks are those of the lines: their tones' colours, or the next of those for lines of none.
func (l Lines) looks() []look {
	looks := make([]look, len(l.Lines))
	plain := 0
	for i, line := range l.Lines {
		class := string(line.Tone)
		switch line.Tone {
		case Plain:
			class = fmt.Sprintf("line-%d", plain%plainLines+1)
			plain++
		case Article:
			class = "text"
		case Skipped:
			class = "muted"
		}
		looks[i].line = draw.LineStyle{Color: inkOf(class), Width: 2, Dashes: dashes[i%len(dashes)]}
		if len(line.Points) <= maxMarks {
			looks[i].shape = shapes[i%len(shapes)]
		}
	}
	return looks
}

func (l look) mark(c draw.Canvas, at vg.Point) {
	if l.shape == nil {
		return
	}
	c.SetLineDash(nil, 0)
	c.DrawGlyphNoClip(draw.GlyphStyle{Color: l.line.Color, Radius: 3.2, Shape: l.shape}, at)
}

// sample draws the line's entry of a legend.
func (l look) sample(c draw.Canvas, m vg.Point) {
	c.StrokeLine2(l.line, m.X-sample, m.Y, m.X+sample, m.Y)
	l.mark(c, m)
}
