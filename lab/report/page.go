package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/pgidem/pgidem/lab/machine"
	"github.com/pgidem/pgidem/lab/report/chart"
)

// Page is the report of a whole run: one HTML file that needs nothing else, no network and no JavaScript.
type Page struct {
	Machine    machine.Machine
	PostgreSQL string // version; empty: none was started
	Redis      string // version; empty: none was started
	Began      time.Time
	Took       time.Duration
	Chapters   []Chapter
}

// Chapter is an experiment's. One that ended with an error has no more of its Section than what its subcommand knows.
type Chapter struct {
	Section
	Took time.Duration
	Err  error // why there is no result; nil: there is one
}

//go:embed page.html
var pageHTML string

//go:embed page.css
var pageCSS string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"chart":      func(c chart.Chart) (template.HTML, error) { svg, err := c.SVG(); return template.HTML(svg), err },
	"table":      newTableView,
	"paragraphs": func(text string) []string { return strings.Split(text, "\n\n") },
	"seconds":    Took,
}).Parse(pageHTML))

// product is the Source of findings about this library.
const product = "pgidem"

// Write writes the file.
func (p Page) Write(w io.Writer) error {
	light, dark := chart.Variables()
	colours := fmt.Sprintf(":root{%s}@media(prefers-color-scheme:dark){:root{%s}}\n", light, dark)
	return pageTemplate.Execute(w, struct {
		Page
		CSS      template.CSS
		Facts    []Fact
		Tally    Tally
		Articles []source
	}{
		Page:     p,
		CSS:      template.CSS(colours + chart.Style() + "\n" + pageCSS),
		Facts:    p.Facts(),
		Tally:    p.Tally(),
		Articles: sources,
	})
}

// Tally is that of all chapters.
func (p Page) Tally() Tally {
	var t Tally
	for _, c := range p.Chapters {
		t = t.Add(c.Tally())
	}
	return t
}

// Against are the chapters with findings that do not hold, and of them those alone: of the articles, or of the product.
func (p Page) Against(articles bool) []Section {
	var all []Section
	for _, c := range p.Chapters {
		s := c.Section
		s.Findings = slices.DeleteFunc(slices.Clone(s.Findings), func(f Finding) bool {
			return f.Holds || articles == (f.Source == product)
		})
		if len(s.Findings) > 0 {
			all = append(all, s)
		}
	}
	return all
}

// Failed are the chapters without a result.
func (p Page) Failed() []Chapter {
	var failed []Chapter
	for _, c := range p.Chapters {
		if c.Err != nil {
			failed = append(failed, c)
		}
	}
	return failed
}
