package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// A mutant is one patch and the test that must notice it.
type mutant struct {
	name  string // of the file, without .patch
	patch []byte
	test  test
}

// A test is where the first line of a patch says.
type test struct {
	module string // directory of its module: "." or a nested one
	pkg    string // such as ./idem
	name   string // TestX, or TestX/subtest
}

// load reads the patches in dir whose name or first line holds only.
func load(dir, only string) ([]mutant, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.patch"))
	if err != nil {
		return nil, err
	}
	var all []mutant
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		first, patch, _ := bytes.Cut(text, []byte("\n"))
		m := mutant{name: strings.TrimSuffix(filepath.Base(path), ".patch"), patch: patch}
		if m.test, err = parseTest(string(first)); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if strings.Contains(m.name, only) || strings.Contains(string(first), only) {
			all = append(all, m)
		}
	}
	return all, nil
}

func parseTest(line string) (test, error) {
	words, ok := strings.CutPrefix(line, "test: ")
	f := strings.Fields(words)
	switch {
	case ok && len(f) == 2:
		return test{module: ".", pkg: f[0], name: f[1]}, nil
	case ok && len(f) == 3:
		return test{module: f[0], pkg: f[1], name: f[2]}, nil
	}
	return test{}, fmt.Errorf("the first line is %q; it must be test: [module] package TestName", line)
}

// verdict is what became of a mutant.
type verdict struct {
	killed bool
	took   time.Duration
}

// try applies the patch in dir, runs the test, and takes the patch back.
func (m mutant) try(ctx context.Context, dir string) (v verdict, err error) {
	if err := m.apply(ctx, dir); err != nil {
		return v, fmt.Errorf("%s: %w", m.name, err)
	}
	defer func() {
		if undo := m.apply(context.WithoutCancel(ctx), dir, "--reverse"); err == nil && undo != nil {
			err = fmt.Errorf("%s: take it back: %w", m.name, undo)
		}
	}()
	began := time.Now()
	r, err := runTests(ctx, filepath.Join(dir, m.test.module), m.test.pkg, pattern(m.test.name), mutantPatience)
	v.took = time.Since(began)
	switch {
	case err != nil:
		return v, fmt.Errorf("%s: %w", m.name, err)
	case r.notBuilt:
		return v, fmt.Errorf("%s does not compile, which no test is needed to notice:\n%s", m.name, r.output)
	case !r.started[m.test.name]:
		return v, fmt.Errorf("%s: %s did not run:\n%s", m.name, m.test.name, r.output)
	}
	v.killed = !r.passed(m.test.name)
	return v, nil
}

func (m mutant) apply(ctx context.Context, dir string, how ...string) error {
	cmd := command(ctx, dir, "git", append([]string{"apply", "--whitespace=nowarn"}, how...)...)
	// Were the copy inside a repository, git would take its paths from that one's root.
	cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
	cmd.Stdin = bytes.NewReader(m.patch)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("git apply: %w\n%s", err, out)
	}
	return nil
}
