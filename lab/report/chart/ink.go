package chart

import (
	"fmt"
	"image/color"
	"strings"
)

// ink is a role that a colour has in a picture. The plotting library knows colours only, so an ink passes through it as one of
// its own, which rewrite replaces with the role's class.
type ink struct {
	role   int // index of roles
	anchor int // index of anchors: of a text, where it is held
}

// role is an ink's class, and its colour on light and on dark paper.
type role struct{ class, light, dark string }

// On paper, text and tones have a contrast of 4.5 or more, lines of 3 or more. Good and bad differ for the colour-blind too, and
// so do lines of no tone, which go by the order of their series.
var roles = []role{
	{"paper", "#fdfcfa", "#13161a"},
	{"text", "#1c2127", "#e6e8eb"},
	{"muted", "#59616b", "#a3abb5"},
	{"rule", "#d9dbdd", "#333a42"},
	{"good", "#00795a", "#3ecb9f"},
	{"bad", "#c2410c", "#ff8c57"},
	{"plain", "#5a7186", "#8ba3b8"},
	{"line-1", "#0067a5", "#6cb8f6"},
	{"line-2", "#a33c78", "#eb9bc6"},
	{"line-3", "#8a6200", "#e3b341"},
	{"line-4", "#6a4bb0", "#b9a3f5"},
	{"line-5", "#4d5761", "#c0c8d0"},
	{"line-6", "#1a7f9c", "#86d6ec"},
}

const plainLines = 6 // roles of lines of no tone

var anchors = []string{"start", "middle", "end"}

func inkOf(class string) ink {
	for i, r := range roles {
		if r.class == class {
			return ink{role: i}
		}
	}
	panic("chart: no role " + class)
}

// RGBA is the colour that stands for the ink in the library's output.
func (i ink) RGBA() (r, g, b, a uint32) {
	return color.RGBA{R: uint8(i.anchor), G: uint8(i.role), B: mark, A: 0xff}.RGBA()
}

// mark is the blue of all inks, so that another colour is not taken for one.
const mark = 0xe5

// readInk is the ink behind #RRGGBB.
func readInk(hex string) (ink, error) {
	var i ink
	var blue int
	if n, err := fmt.Sscanf(hex, "#%02X%02X%02X", &i.anchor, &i.role, &blue); n != 3 || err != nil || blue != mark ||
		i.role >= len(roles) || i.anchor >= len(anchors) {
		return i, fmt.Errorf("chart: %s is the colour of no ink", hex)
	}
	return i, nil
}

func (i ink) class() string { return roles[i.role].class }

// Variables are the CSS variables that Style takes colours from, such as --good, for light and for dark paper.
func Variables() (light, dark string) {
	for _, r := range roles {
		light += fmt.Sprintf("--%s:%s;", r.class, r.light)
		dark += fmt.Sprintf("--%s:%s;", r.class, r.dark)
	}
	return light, dark
}

// Style is the style sheet of pictures in a page that sets the Variables.
func Style() string {
	return letterStyle + colours(roles, func(r role) string { return "var(--" + r.class + ")" })
}

// Font is the reader's own.
const Font = `system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif`

const letterStyle = ".chart text{font-family:" + Font + ";font-variant-numeric:tabular-nums}.chart .strong{font-weight:600}"

// colours are the rules of the roles' classes: f- fills, s- strokes.
func colours(roles []role, colour func(role) string) string {
	var b strings.Builder
	for _, r := range roles {
		fmt.Fprintf(&b, ".chart .f-%s{fill:%s}.chart .s-%[1]s{stroke:%[2]s;fill:none}", r.class, colour(r))
	}
	return b.String()
}
