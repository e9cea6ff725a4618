// Package chart draws what experiments measured as SVG that follows the reader's colours and is legible on a phone.
package chart

// Chart is a picture of numbers.
type Chart interface {
	// SVG is the picture, an svg element for a page that has Style and sets the Variables. It is 380 wide, and as wide as its box.
	SVG() (string, error)

	picture() (picture, error)
}

// Tone says what a row or a bar means.
type Tone string

const (
	Plain   Tone = ""        // neither good nor bad
	Good    Tone = "good"    // it keeps what it promises
	Bad     Tone = "bad"     // money is lost
	Article Tone = "article" // the article's figure, not measured here
	Skipped Tone = "skipped" // not run
)

// Bars are horizontal bars, one under the other, each with its label above it and its value behind it.
type Bars struct {
	Title string
	Unit  string // of the values, such as: requests a second
	Bars  []Bar
}

// Bar is one of Bars.
type Bar struct {
	Label     string
	Value     float64
	Low, High float64 // the spread; both 0: none is shown
	Text      string  // the value as it is written; empty: the number
	Article   float64 // the article's figure, a mark beside the bar; 0: none
	Tone      Tone
}

// Lines are series over a common x axis.
type Lines struct {
	Title      string
	X, Y       string // what the axes mean, with units
	LogX, LogY bool   // logarithmic; then nothing may be 0 or less
	Lines      []Line
}

// Line is one of Lines.
type Line struct {
	Label  string
	Points []Point // by X
	Tone   Tone    // Plain: a colour of its own
}

// Point is a point of a Line.
type Point struct{ X, Y float64 }
