package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// How long one test binary may run: all tests of a package in the unbroken tree, and one test of a mutant, which may hang.
const (
	baselinePatience = "15m"
	mutantPatience   = "2m"
)

// result is what go test said of one package.
type result struct {
	notBuilt bool
	started  map[string]bool
	failed   map[string]bool
	ended    map[string]bool // passed or skipped or failed
	skipped  map[string]bool
	output   string
}

// passed reports whether a test ran to its end and held. One that a panic or a time-out cut short did not.
func (r result) passed(name string) bool {
	return r.ended[name] && !r.failed[name] && !r.skipped[name]
}

// runTests runs the tests that match run in a package. An error means that go test itself could not be run.
func runTests(ctx context.Context, dir, pkg, run, patience string) (result, error) {
	cmd := command(ctx, dir, "go", "test", "-json", "-count=1", "-timeout="+patience, "-run", run, pkg)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || ctx.Err() != nil {
		return result{}, errors.Join(err, ctx.Err())
	}
	r := result{started: map[string]bool{}, failed: map[string]bool{}, ended: map[string]bool{}, skipped: map[string]bool{}}
	said := stderr.String()
	for line := range bytes.Lines(out) {
		var e struct{ Action, Test, Output, FailedBuild string }
		if json.Unmarshal(line, &e) != nil {
			said += string(line)
			continue
		}
		said += e.Output
		switch e.Action {
		case "build-fail":
			r.notBuilt = true
		case "run":
			r.started[e.Test] = true
		case "pass", "fail", "skip":
			r.ended[e.Test] = true
			r.failed[e.Test] = e.Action == "fail"
			r.skipped[e.Test] = e.Action == "skip"
			r.notBuilt = r.notBuilt || e.FailedBuild != ""
		}
	}
	r.notBuilt = r.notBuilt || strings.Contains(said, "[build failed]") || strings.Contains(said, "[setup failed]")
	r.output = said
	return r, nil
}

// pattern matches exactly the named tests; a subtest's parents come with it.
func pattern(name string) string {
	parts := strings.Split(name, "/")
	for i, part := range parts {
		parts[i] = "^" + part + "$"
	}
	return strings.Join(parts, "/")
}

// baseline runs the tests of all mutants on the unbroken tree, package by package, and returns those that pass.
func baseline(ctx context.Context, dir string, mutants []mutant) (map[test]bool, []error) {
	type place struct{ module, pkg string }
	places := map[place][]test{}
	var order []place
	for _, m := range mutants {
		p := place{m.test.module, m.test.pkg}
		if places[p] == nil {
			order = append(order, p)
		}
		if !slices.Contains(places[p], m.test) {
			places[p] = append(places[p], m.test)
		}
	}
	healthy := map[test]bool{}
	var errs []error
	for _, p := range order {
		var tops []string
		for _, t := range places[p] {
			top, _, _ := strings.Cut(t.name, "/")
			if !slices.Contains(tops, top) {
				tops = append(tops, top)
			}
		}
		r, err := runTests(ctx, filepath.Join(dir, p.module), p.pkg, "^("+strings.Join(tops, "|")+")$", baselinePatience)
		for _, t := range places[p] {
			switch {
			case err != nil:
			case r.notBuilt:
				err = fmt.Errorf("%s does not compile:\n%s", p.pkg, r.output)
			case !r.started[t.name]:
				errs = append(errs, fmt.Errorf("%s has no test %s", p.pkg, t.name))
				continue
			case !r.passed(t.name):
				errs = append(errs, fmt.Errorf("%s fails in the unbroken tree:\n%s", t.name, r.output))
				continue
			default:
				healthy[t] = true
			}
		}
		if err != nil {
			errs = append(errs, err)
		}
	}
	for _, err := range errs {
		fmt.Printf("ERROR     %v\n", err)
	}
	return healthy, errs
}
