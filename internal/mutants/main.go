// Mutants breaks the code on purpose and expects the tests to notice:
//
//	go run ./internal/devpg/run -- go run ./internal/mutants [-only word] [-within time] [-proven]
//
// A mutant is a file in testdata/mutants: a first line that names the test which must fail, and a patch as git diff writes it.
//
//	test: ./idem TestFingerprintPartsDoNotRunTogether
//	diff --git a/idem/fingerprint.go b/idem/fingerprint.go
//
// Where the test is in a nested module, the module's directory stands before the package: test: lab ./design TestX. All work is
// done in a copy of the tree. A test that fails without any patch, a test that does not exist, a patch that does not apply or
// does not compile is an error, not a mutant killed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	only := flag.String("only", "", "run the mutants with this `word` in their name or first line")
	within := flag.Duration("within", 0, "start no mutant after this `time`; 0: run all")
	proven := flag.Bool("proven", false, "the tests have just passed: do not run them on the unbroken tree first")
	flag.Parse()
	if flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *only, *within, *proven)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, only string, within time.Duration, proven bool) error {
	began := time.Now()
	mutants, err := load("testdata/mutants", only)
	if err != nil {
		return err
	}
	if len(mutants) == 0 {
		return fmt.Errorf("no mutant in testdata/mutants has %q in its name or first line", only)
	}
	dir, err := copyTree(ctx, ".")
	if err != nil {
		return fmt.Errorf("copy the tree: %w", err)
	}
	defer os.RemoveAll(dir)

	if within > 0 { // whom the end of the time meets is chance, so that no mutant is left out for ever
		rand.Shuffle(len(mutants), func(i, j int) { mutants[i], mutants[j] = mutants[j], mutants[i] })
	}
	var healthy map[test]bool
	var errs []error
	if !proven {
		healthy, errs = baseline(ctx, dir, mutants)
	}
	killed, survived, untried := 0, 0, 0
	for _, m := range mutants {
		if !proven && !healthy[m.test] {
			continue // an error has been reported for it
		}
		if within > 0 && time.Since(began) > within {
			untried++
			fmt.Printf("not tried         %s  (no time left)\n", m.name)
			continue
		}
		v, err := m.try(ctx, dir)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			fmt.Printf("ERROR     %v\n", err)
			errs = append(errs, err)
		case v.killed:
			killed++
			fmt.Printf("killed    %5.1fs  %s  by %s\n", v.took.Seconds(), m.name, m.test.name)
		default:
			survived++
			fmt.Printf("SURVIVED  %5.1fs  %s  %s passes\n", v.took.Seconds(), m.name, m.test.name)
		}
	}
	fmt.Printf("mutants: %d killed, %d survived, %d errors, %d not tried, in %v\n",
		killed, survived, len(errs), untried, time.Since(began).Round(time.Second))
	if survived > 0 || len(errs) > 0 {
		return errors.New("the tests do not hold what they say")
	}
	return nil
}

// command prepares a program that ends with ctx.
func command(ctx context.Context, dir, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	return cmd
}
