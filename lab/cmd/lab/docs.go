package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/pgidem/pgidem/lab/report"
	"github.com/pgidem/pgidem/lab/report/chart"
)

// docs is the directory of the project's documents, which show a run.
type docs struct{ dir string }

// Where benchmarks.md shows a run: between these lines.
const (
	labBegin = "<!-- lab: begin -->\n"
	labEnd   = "<!-- lab: end -->\n"
)

// pictures are the experiments whose first chart the documents show as SVG.
var pictures = []string{"storm", "crash"}

func (d docs) benchmarks() string { return filepath.Join(d.dir, "benchmarks.md") }

// check reports why the directory cannot be written to.
func (d docs) check() error {
	text, err := os.ReadFile(d.benchmarks())
	if err != nil {
		return err
	}
	if _, err := between(text, nil); err != nil {
		return fmt.Errorf("%s: %w", d.benchmarks(), err)
	}
	return nil
}

// write writes the page and what is made of it, all of it or, where something cannot be made, nothing.
func (d docs) write(p report.Page) error {
	files := make(map[string][]byte) // by path
	lab := filepath.Join(d.dir, "lab")
	var page, part bytes.Buffer
	if err := p.Write(&page); err != nil {
		return err
	}
	files[filepath.Join(lab, "report.html")] = page.Bytes()
	for _, name := range pictures {
		svg, err := picture(p, name)
		if err != nil {
			return err
		}
		files[filepath.Join(lab, name+".svg")] = []byte(svg)
	}
	if err := (report.Markdown{Page: p, Report: "lab/report.html"}).Write(&part); err != nil {
		return err
	}
	text, err := os.ReadFile(d.benchmarks())
	if err != nil {
		return err
	}
	if files[d.benchmarks()], err = between(text, part.Bytes()); err != nil {
		return fmt.Errorf("%s: %w", d.benchmarks(), err)
	}
	errs := []error{os.MkdirAll(lab, 0o755)}
	for path, content := range files {
		errs = append(errs, os.WriteFile(path, content, 0o644))
	}
	return errors.Join(errs...)
}

// picture is the first chart of a chapter.
func picture(p report.Page, name string) (string, error) {
	i := slices.IndexFunc(p.Chapters, func(c report.Chapter) bool { return c.Name == name })
	if i < 0 || len(p.Chapters[i].Charts) == 0 {
		return "", fmt.Errorf("there is no chart of %s for the documents", name)
	}
	return chart.Standalone(p.Chapters[i].Charts[0])
}

// between is text with part in place of what stands between the lines.
func between(text, part []byte) ([]byte, error) {
	before, rest, ok := bytes.Cut(text, []byte(labBegin))
	_, after, ok2 := bytes.Cut(rest, []byte(labEnd))
	if !ok || !ok2 {
		return nil, errors.New("it has no part between the lines " + labBegin[:len(labBegin)-1] + " and " + labEnd[:len(labEnd)-1])
	}
	return slices.Concat(before, []byte(labBegin), part, []byte(labEnd), after), nil
}
