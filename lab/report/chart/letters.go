package chart

import (
	"strings"

	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
)

// Sizes of text, in the units of a picture that is 380 wide.
const (
	large  = 13 // titles
	middle = 12 // labels and values
	small  = 11 // axes and legends
)

// How much wider than the font that widths are measured with the reader's own may be. Of those that system-ui stands for, DejaVu
// Sans on Linux is the widest, and wider still in bold.
const (
	wider     = 1.2
	widerBold = 1.28
)

// letters lays out text for a font that is known only where it is read: it leaves room for a wide one, and instead of a left
// edge it passes on the point where a line is held.
type letters struct{ text.Plain }

var handler = letters{text.Plain{Fonts: font.DefaultCache}}

// Box is a line's extent.
func (l letters) Box(line string, f font.Font) (width, height, depth vg.Length) {
	width, height, depth = l.Plain.Box(line, f)
	if f.Weight == xfont.WeightBold {
		return width * widerBold, height, depth
	}
	return width * wider, height, depth
}

// Draw writes a single line.
func (l letters) Draw(c vg.Canvas, line string, s text.Style, at vg.Point) {
	if line == "" {
		return
	}
	i := s.Color.(ink)
	switch s.XAlign {
	case text.XCenter:
		i.anchor = 1
	case text.XRight:
		i.anchor = 2
	}
	c.SetColor(i)
	face := l.Fonts.Lookup(s.Font, s.Font.Size)
	e := face.Extents()
	at.Y += (e.Ascent + e.Descent) * vg.Length(s.YAlign) // what the library's axes expect; 0 is the baseline
	c.FillString(face, at, line)
}

// write is a style of text held at its start, on its baseline.
func write(size vg.Length, class string, strong bool) text.Style {
	f := font.From(plot.DefaultFont, size)
	f.Variant = "Sans"
	if strong {
		f.Weight = xfont.WeightBold
	}
	return text.Style{Color: inkOf(class), Font: f, Handler: handler}
}

// breakLines breaks text into lines that are at most so wide, at spaces.
func breakLines(s text.Style, words string, width vg.Length) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(words) {
		if longer := strings.TrimSpace(line + " " + word); line == "" || s.Width(longer) <= width {
			line = longer
			continue
		}
		lines = append(lines, line)
		line = word
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}
