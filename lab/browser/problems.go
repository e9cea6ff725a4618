package browser

import "fmt"

const minChartText = 9 // pixels of the page

// Problems are what is wrong with what is seen, in the words of the file's author; none: it can be read.
func (s Seen) Problems() []string {
	var all []string
	say := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	each := func(what string, items []string) {
		for _, i := range items {
			say("%s: %s", what, i)
		}
	}
	each("error", s.Errors)
	each("it asks for", s.Requests)
	if s.ScrollWidth > s.ClientWidth {
		say("it scrolls sideways: %d wide, and the window is %d", s.ScrollWidth, s.ClientWidth)
	}
	if s.Texts == 0 {
		say("it has no text")
	}
	each("contrast below 4.5", s.Faint)
	if s.SmallestChartText < minChartText {
		say("a chart has text of %.1f px; it must be at least %d", s.SmallestChartText, minChartText)
	}
	each("cut off", s.Cut)
	each("in each other", s.Overlapping)
	if len(s.Chapters) == 0 {
		say("it has no chapters")
	}
	for _, c := range s.Chapters {
		if !c.Failed && (c.Charts == 0 || c.Tables == 0) {
			say("chapter %s shows %d charts and %d tables with rows; it must show one of each", c.Name, c.Charts, c.Tables)
		}
	}
	return all
}
