package chart

import (
	"fmt"
	"html"
	"slices"
	"strings"
)

// Standalone is the picture as a file of its own: it brings its colours, light or dark as the reader prefers, on whatever paper
// it lies. The same chart makes the same file.
func Standalone(c Chart) (string, error) {
	p, err := c.picture()
	if err != nil {
		return "", err
	}
	body, err := p.body()
	if err != nil {
		return "", err
	}
	used := slices.DeleteFunc(slices.Clone(roles), func(r role) bool {
		return !strings.Contains(body, `="f-`+r.class) && !strings.Contains(body, `="s-`+r.class)
	})
	const scale = 1.25 // of the size on a desk; where there is less room, whoever shows it makes it narrower
	w, h := width.Points(), p.height.Points()
	light := colours(used, func(r role) string { return r.light })
	dark := colours(used, func(r role) string { return r.dark })
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" class="chart" width="%g" height="%g" viewBox="0 0 %g %g" role="img">
<title>%s</title>
<desc>%s</desc>
<style>%s%s@media (prefers-color-scheme:dark){%s}</style>
%s</svg>
`,
		scale*w, scale*h, w, h, html.EscapeString(p.title), html.EscapeString(p.content), letterStyle, light, dark, body), nil
}
