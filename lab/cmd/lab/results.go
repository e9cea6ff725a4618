package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"github.com/pgidem/pgidem/lab/machine"
	"github.com/pgidem/pgidem/lab/report"
)

// results collects a run in a directory.
type results struct {
	dir       string
	page      report.Page
	documents []document
}

// add takes an outcome and writes its file.
func (r *results) add(o outcome) error {
	r.page.Chapters = append(r.page.Chapters, o.chapter)
	r.documents = append(r.documents, o.document)
	if o.document.PostgreSQL != "" {
		r.page.PostgreSQL = o.document.PostgreSQL
	}
	if o.document.Redis != "" {
		r.page.Redis = o.document.Redis
	}
	return r.json(o.document.Experiment+".json", o.document)
}

// write writes the files of the whole run.
func (r *results) write() error {
	err := r.json("all.json", struct {
		Machine     machine.Machine `json:"machine"`
		Began       time.Time       `json:"began"`
		Seconds     float64         `json:"seconds"`
		Experiments []document      `json:"experiments"`
	}{r.page.Machine, r.page.Began.UTC(), r.page.Took.Seconds(), r.documents})
	if err != nil {
		return err
	}
	var page bytes.Buffer
	if err := r.page.Write(&page); err != nil {
		return err
	}
	return os.WriteFile(r.report(), page.Bytes(), 0o644)
}

// report is the page's file.
func (r *results) report() string { return filepath.Join(r.dir, "report.html") }

func (r *results) json(name string, value any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", "  ")
	if err := e.Encode(value); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.dir, name), b.Bytes(), 0o644)
}
