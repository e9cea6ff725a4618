// Package browser opens the lab's report in Debian's chromium, which playwright-core drives, and says what a reader would see.
package browser

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

//go:embed package.json package-lock.json look.mjs measure.mjs
var files embed.FS

// Browser is ready to look at files. Close it.
type Browser struct {
	node, chromium string // programs
	dir            string // scripts, node_modules, and what chromium keeps while it runs
}

// Open finds or installs what is needed: chromium, node and npm as Debian's packages where they are missing and that may be done,
// playwright-core from the registry of npm.
func Open(ctx context.Context) (_ *Browser, err error) {
	b := &Browser{}
	if b.chromium, err = findChromium(); err != nil {
		return nil, err
	}
	if b.node, err = find("nodejs", "node"); err != nil {
		return nil, err
	}
	npm, err := find("npm", "npm")
	if err != nil {
		return nil, err
	}
	if b.dir, err = os.MkdirTemp("", "pgidem-browser-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			b.Close()
		}
	}()
	if err := os.CopyFS(b.dir, files); err != nil {
		return nil, err
	}
	cmd := b.command(ctx, npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("playwright-core cannot be had: npm ci: %w\n%s", err, out)
	}
	return b, nil
}

// Close removes what was installed for it alone.
func (b *Browser) Close() { _ = os.RemoveAll(b.dir) }

// View is a window that a file is looked at in.
type View struct {
	File   string  `json:"file"`
	Width  int     `json:"width"`
	Height int     `json:"height"`
	Scheme string  `json:"scheme"` // light or dark
	Scale  float64 `json:"scale"`  // pixels of the screen in one of the page's
	// Screenshot is the PNG file to write; empty: none.
	Screenshot string `json:"screenshot,omitempty"`
}

// Seen is what a View shows.
type Seen struct {
	Errors            []string  `json:"errors"`   // of the console and of the page
	Requests          []string  `json:"requests"` // for anything but the file
	ScrollWidth       int       `json:"scroll_width"`
	ClientWidth       int       `json:"client_width"`
	Texts             int       `json:"texts"`
	Faint             []string  `json:"faint"`               // texts with a contrast below 4.5, which is before them
	SmallestChartText float64   `json:"smallest_chart_text"` // pixels of the page
	Cut               []string  `json:"cut"`                 // texts that leave their chart
	Overlapping       []string  `json:"overlapping"`         // texts of charts that stand in each other
	Chapters          []Chapter `json:"chapters"`
}

// Chapter is what is visible of an experiment.
type Chapter struct {
	Name   string `json:"name"`
	Failed bool   `json:"failed"` // it says that the experiment did not end
	Charts int    `json:"charts"`
	Tables int    `json:"tables"` // with rows
}

// Look opens each view, one after the other. Its paths are absolute.
func (b *Browser) Look(ctx context.Context, views []View) ([]Seen, error) {
	job, err := json.Marshal(struct {
		Chromium string `json:"chromium"`
		Views    []View `json:"views"`
	}{b.chromium, views})
	if err != nil {
		return nil, err
	}
	cmd := b.command(ctx, b.node, "look.mjs")
	var stderr bytes.Buffer
	cmd.Stdin, cmd.Stderr = bytes.NewReader(job), &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("look: %w\n%s", err, &stderr)
	}
	var seen []Seen
	if err := json.Unmarshal(out, &seen); err != nil {
		return nil, fmt.Errorf("look: %w", err)
	}
	return seen, nil
}

// command runs in the directory, and what it leaves behind is left there.
func (b *Browser) command(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = b.dir
	cmd.Env = append(os.Environ(), "TMPDIR="+b.dir)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // on which playwright ends chromium
	cmd.WaitDelay = 10 * time.Second
	return cmd
}
