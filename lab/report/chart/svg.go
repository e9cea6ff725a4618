package chart

import (
	"errors"
	"fmt"
	"html"
	"regexp"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// width of a picture. It is that of a phone's column, so that a phone shows it in its own size and a desk somewhat larger.
const width vg.Length = 380

// picture is what a chart draws.
type picture struct {
	title   string
	content string // what it says, in words, for those who do not see it
	height  vg.Length
	draw    func(draw.Canvas)
}

func svg(c Chart) (string, error) {
	p, err := c.picture()
	if err != nil {
		return "", err
	}
	return p.inline()
}

// inline is the picture as an element of a page that has Style and Variables.
func (p picture) inline() (string, error) {
	body, err := p.body()
	if err != nil {
		return "", err
	}
	return fmt.Sprintf(`<svg class="chart" viewBox="0 0 %g %g" role="img" aria-label="%s">`+"\n%s</svg>",
		width.Points(), p.height.Points(), html.EscapeString(p.title+". "+p.content), body), nil
}

func (p picture) body() (string, error) {
	canvas := vgsvg.New(width, p.height)
	p.draw(draw.New(canvas))
	var b strings.Builder
	if _, err := canvas.WriteTo(&b); err != nil {
		return "", err
	}
	return rewrite(b.String())
}

var (
	textElement = regexp.MustCompile(`transform="scale\(1, -1\)"\s+style="([^"]*)"`)
	pathStyle   = regexp.MustCompile(`style="([^"]*)"`)
)

// rewrite takes the library's document out of its svg element, and turns the colours of inks into classes, and fonts into the
// reader's.
func rewrite(svg string) (string, error) {
	_, body, ok := strings.Cut(svg, "xmlns:xlink=\"http://www.w3.org/1999/xlink\">\n")
	body, ok2 := strings.CutSuffix(body, "</svg>\n")
	if !ok || !ok2 {
		return "", errors.New("chart: the library's document has another shape")
	}
	var errs []error
	body = textElement.ReplaceAllStringFunc(body, func(found string) string {
		attributes, err := textAttributes(declarations(textElement.FindStringSubmatch(found)[1]))
		errs = append(errs, err)
		return `transform="scale(1,-1)" ` + attributes
	})
	body = pathStyle.ReplaceAllStringFunc(body, func(found string) string {
		attributes, err := pathAttributes(declarations(pathStyle.FindStringSubmatch(found)[1]))
		errs = append(errs, err)
		return attributes
	})
	return body, errors.Join(errs...)
}

// declarations are those of a style attribute.
func declarations(style string) map[string]string {
	d := make(map[string]string)
	for one := range strings.SplitSeq(style, ";") {
		name, value, _ := strings.Cut(one, ":")
		d[name] = value
	}
	return d
}

func textAttributes(d map[string]string) (string, error) {
	i, err := readInk(d["fill"])
	class := "f-" + i.class()
	if d["font-weight"] == "bold" {
		class += " strong"
	}
	return fmt.Sprintf(`class="%s" font-size="%s" text-anchor="%s"`,
		class, strings.TrimSuffix(d["font-size"], "px"), anchors[i.anchor]), err
}

func pathAttributes(d map[string]string) (string, error) {
	colour, prefix := d["fill"], "f-"
	if stroke, ok := d["stroke"]; ok {
		colour, prefix = stroke, "s-"
	}
	i, err := readInk(colour)
	attributes := fmt.Sprintf(`class="%s%s"`, prefix, i.class())
	for _, name := range []string{"stroke-width", "stroke-dasharray"} {
		if value, ok := d[name]; ok {
			attributes += fmt.Sprintf(` %s="%s"`, name, value)
		}
	}
	return attributes, err
}
