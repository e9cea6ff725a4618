// Package payments runs the programs of examples/payments for the experiments: the shop's API and the card processor, each a
// process of its own.
package payments

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Programs are the example's programs, built.
type Programs struct{ dir string }

// Build builds them into a directory of their own; Close removes it.
func Build(ctx context.Context) (_ *Programs, err error) {
	root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/pgidem/pgidem").Output()
	if err != nil {
		return nil, fmt.Errorf("find the examples: go list: %w", err)
	}
	p := new(Programs)
	if p.dir, err = os.MkdirTemp("", "pgidem-payments-"); err != nil {
		return nil, err
	}
	build := exec.CommandContext(ctx, "go", "build", "-o", p.dir+string(filepath.Separator),
		"./examples/payments/api", "./examples/payments/processor")
	build.Dir = strings.TrimSpace(string(root))
	if said, err := build.CombinedOutput(); err != nil {
		return nil, errors.Join(fmt.Errorf("build examples/payments: %w\n%s", err, said), p.Close())
	}
	return p, nil
}

// Close removes the programs.
func (p *Programs) Close() error { return os.RemoveAll(p.dir) }

func (p *Programs) path(name string) string { return filepath.Join(p.dir, name) }
