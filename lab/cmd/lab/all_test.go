package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pgidem/pgidem/lab/report"
	"github.com/pgidem/pgidem/lab/report/chart"
	"github.com/pgidem/pgidem/lab/workbench"
)

// known is an experiment whose result is known.
type known struct {
	section report.Section
	err     error
}

type knownResult struct {
	Figure  int `json:"figure"`
	section report.Section
}

func (k known) Check() error { return nil }
func (k known) Run(context.Context, *workbench.Bench) (workbench.Result, error) {
	if k.err != nil {
		return nil, k.err
	}
	return knownResult{7, k.section}, nil
}
func (r knownResult) Section() report.Section { return r.section }

// holding is a command whose experiment shows what it is for, changed by change.
func holding(name string, change func(*known)) *command {
	k := known{section: report.Section{
		Name: name, Title: "What " + name + " shows", Articles: "article 003", Lead: "Five payments.",
		Charts: []chart.Chart{chart.Bars{Title: "Charges", Bars: []chart.Bar{{Label: "no key", Value: 5}}}},
		Tables: []report.Table{{
			Title: "Charges", Columns: []string{"design", "charges"}, Rows: []report.Row{{Cells: []string{"no key", "5"}}},
		}},
		Findings: []report.Finding{{Source: "article 003", Claim: "It is never zero.", Measured: "5", Holds: true, Must: true}},
	}}
	if change != nil {
		change(&k)
	}
	return &command{Experiment: k, Name: name, Short: "Run " + name}
}

// runAll runs them, and returns what was printed and the directory of the results.
func runAll(t *testing.T, a all, commands ...*command) (stdout, dir string, err error) {
	t.Helper()
	var b strings.Builder
	a.commands, a.out, a.stdout, a.stderr = commands, t.TempDir(), &b, io.Discard
	if err := a.check(); err != nil {
		t.Fatal(err)
	}
	err = a.run(t.Context())
	return b.String(), a.out, err
}

func TestAllWritesEveryResult(t *testing.T) {
	t.Parallel()
	stdout, dir, err := runAll(t, all{}, holding("storm", nil), holding("crash", nil))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(stdout, "storm") || !strings.Contains(stdout, filepath.Join(dir, "report.html")) {
		t.Errorf("it prints:\n%s", stdout)
	}
	var whole struct {
		Machine     struct{ Cores int }
		Experiments []struct {
			Experiment string
			Result     knownResult
			Findings   []report.Finding
		}
	}
	text := read(t, filepath.Join(dir, "all.json"))
	if err := json.Unmarshal([]byte(text), &whole); err != nil {
		t.Fatal(err)
	}
	if len(whole.Experiments) != 2 || whole.Machine.Cores < 1 || whole.Experiments[1].Experiment != "crash" ||
		whole.Experiments[1].Result.Figure != 7 || len(whole.Experiments[0].Findings) != 1 {
		t.Errorf("all.json:\n%s", text)
	}
	if one := read(t, filepath.Join(dir, "storm.json")); !strings.Contains(one, `"figure": 7`) {
		t.Errorf("storm.json:\n%s", one)
	}
	if page := read(t, filepath.Join(dir, "report.html")); strings.Count(page, `<section class="chapter"`) != 2 {
		t.Error("the page has other than 2 chapters")
	}
}

func TestAllFailsWithWhatIsNotAsItMustBe(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(*known)
		says   string // empty: it does not fail
	}{
		{"an error", func(k *known) { k.err = errors.New("no PostgreSQL") }, "crash: no PostgreSQL"},
		{"what must hold does not", func(k *known) { k.section.Findings[0].Holds = false }, "crash: article 003: It is never zero."},
		{"something is left out", func(k *known) { k.section.Skipped = []string{"Redis: none"} }, "crash: Redis: none"},
		{"a chart that cannot be drawn", func(k *known) { k.section.Charts = []chart.Chart{chart.Bars{}} }, "crash: chart"},
		{"a row that does not fit", func(k *known) { k.section.Tables[0].Rows[0].Cells = []string{"5"} }, "crash: table"},
		{"a speed came out otherwise", func(k *known) { k.section.Findings[0] = report.Finding{Source: "article 003"} }, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, dir, err := runAll(t, all{}, holding("crash", c.change), holding("storm", nil))
			switch {
			case c.says == "" && err != nil:
				t.Error(err)
			case c.says != "" && (err == nil || !strings.Contains(err.Error(), "\n  "+c.says)):
				t.Errorf("error %v; want %s", err, c.says)
			}
			// The rest has run, and is written.
			page := read(t, filepath.Join(dir, "report.html"))
			if !strings.Contains(page, `id="storm"`) || !strings.Contains(page, `id="crash"`) {
				t.Error("the page lacks a chapter")
			}
			read(t, filepath.Join(dir, "storm.json"))
			read(t, filepath.Join(dir, "crash.json"))
		})
	}
}

func TestAllForgivesWhatWasToBeLeftOut(t *testing.T) {
	t.Parallel()
	left := holding("storm", func(k *known) { k.section.Skipped = []string{"Redis: --skip-redis"} })
	if stdout, _, err := runAll(t, all{skipRedis: true}, left); err != nil {
		t.Errorf("%v\n%s", err, stdout)
	}
}

func TestAllRunsOnlyWhatIsNamed(t *testing.T) {
	t.Parallel()
	_, dir, err := runAll(t, all{only: []string{"crash"}}, holding("storm", nil), holding("crash", nil))
	if err != nil {
		t.Fatal(err)
	}
	if files := list(t, dir); !slices.Equal(files, []string{"all.json", "crash.json", "report.html"}) {
		t.Errorf("it wrote %q", files)
	}
}

func TestAllLeavesOutWhatStandsApartUnlessItIsAskedFor(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		all  all
		want []string
	}{
		{all{}, []string{"all.json", "crash.json", "report.html"}},
		{all{bench: true}, []string{"all.json", "crash.json", "report.html", "speed.json"}},
		{all{only: []string{"speed"}}, []string{"all.json", "report.html", "speed.json"}},
	} {
		apart := holding("speed", nil)
		apart.Apart = true
		_, dir, err := runAll(t, c.all, holding("crash", nil), apart)
		if err != nil {
			t.Fatal(err)
		}
		if files := list(t, dir); !slices.Equal(files, c.want) {
			t.Errorf("it wrote %q, want %q", files, c.want)
		}
	}
}

func TestAllWritesTheDocuments(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	benchmarks := filepath.Join(dir, "benchmarks.md")
	if err := os.WriteFile(benchmarks, []byte("# Before\n"+labBegin+"an older run\n"+labEnd+"## After\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := runAll(t, all{docs: dir}, holding("storm", nil), holding("crash", nil)); err != nil {
		t.Fatal(err)
	}
	if files := list(t, filepath.Join(dir, "lab")); !slices.Equal(files, []string{"crash.svg", "report.html", "storm.svg"}) {
		t.Errorf("it wrote %q", files)
	}
	text := read(t, benchmarks)
	for _, part := range []string{
		"# Before\n" + labBegin, labEnd + "## After\n", "go -C lab run ./cmd/lab storm", "| no key | 5 |",
		"Claims of the articles and of pgidem: 1 holds.",
	} {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in:\n%s", part, text)
		}
	}
	if strings.Contains(text, "an older run") {
		t.Error("the older run still stands there")
	}
}

func TestAllLeavesTheDocumentsWhereAnExperimentFails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	older := "# Before\n" + labBegin + "an older run\n" + labEnd
	if err := os.WriteFile(filepath.Join(dir, "benchmarks.md"), []byte(older), 0o600); err != nil {
		t.Fatal(err)
	}
	broken := holding("storm", func(k *known) { k.err = errors.New("no PostgreSQL") })
	_, _, err := runAll(t, all{docs: dir}, broken, holding("crash", nil))
	if err == nil || !strings.Contains(err.Error(), "stays as it was") {
		t.Errorf("error %v", err)
	}
	if files := list(t, dir); !slices.Equal(files, []string{"benchmarks.md"}) || read(t, filepath.Join(dir, "benchmarks.md")) != older {
		t.Errorf("it wrote %q", files)
	}
}

func TestAllRefusesWhatMakesNoRun(t *testing.T) {
	t.Parallel()
	bare := t.TempDir()
	if err := os.WriteFile(filepath.Join(bare, "benchmarks.md"), []byte("# No part for it\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ args, says string }{
		{"--only race,strom", `--only names "strom"; the experiments are race`},
		{"--docs " + bare, "benchmarks.md: it has no part between the lines <!-- lab: begin -->"},
		{"--docs /nowhere", "--docs is /nowhere: open /nowhere/benchmarks.md"},
		{"--docs ../../../docs --only race", "--docs cannot be had with --only"},
		{"now", `unknown command "now"`},
	} {
		t.Run(c.args, func(t *testing.T) {
			t.Parallel()
			cmd, stdout, stderr := lab(append([]string{"all"}, strings.Fields(c.args)...)...)
			if got := code(t, cmd.Run()); got != 2 {
				t.Errorf("exit code %d, want 2", got)
			}
			if !strings.Contains(stderr.String(), c.says) || stdout.Len() > 0 {
				t.Errorf("it says %q and prints %q; want %q", stderr, stdout, c.says)
			}
		})
	}
}

func TestInterruptOfAllLeavesNoServer(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("/tmp", "lab-test-") // which the account that the server runs as can enter
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd, stdout, _ := lab("all", "--out", t.TempDir())
	cmd.Env = append(cmd.Env, "TMPDIR="+dir)
	cmd.Stderr = nil
	said, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(said)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "Starting a PostgreSQL server") {
	}
	for len(list(t, dir)) == 0 { // until there is something to leave
		time.Sleep(time.Millisecond)
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	last := ""
	for lines.Scan() {
		last = lines.Text()
	}
	if got := code(t, cmd.Wait()); got != 130 || last != "lab: interrupted" || stdout.Len() > 0 {
		t.Errorf("exit code %d, %q, printed %q; want 130, interrupted, nothing", got, last, stdout)
	}
	if left := list(t, dir); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func list(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names
}
