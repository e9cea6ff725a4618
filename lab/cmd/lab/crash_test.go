package main

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/pgidem/pgidem/lab/experiment/crash"
	"github.com/pgidem/pgidem/lab/report"
	"github.com/pgidem/pgidem/lab/workbench"
)

func TestCrashPrintsTheTable(t *testing.T) {
	t.Parallel()
	cmd, stdout, stderr := lab("crash", "--keys=20", "--kills=4", "--workers=2")
	if got := code(t, cmd.Run()); got != 0 {
		t.Fatalf("exit code %d\n%s%s", got, stdout, stderr)
	}
	for _, text := range []string{
		"Postgres claim, takeover when stale", "24           4           0        20", "1,100 / 100", // article 003's
		"Store.Do, local write", "20           0           4        20", "Hold, StaleResolve, late calls not reported", // ours
		"became a second charge, 4 times of 4",
	} {
		if !strings.Contains(stdout.String(), text) {
			t.Errorf("no %q in:\n%s", text, stdout)
		}
	}
	if strings.ContainsAny(stdout.String()+stderr.String(), "\x1b\r") {
		t.Errorf("it writes to a file as to a terminal:\n%q\n%q", stdout, stderr)
	}
	if !strings.Contains(stderr.String(), "crash: design 13 of 13: 20 done in ") {
		t.Errorf("no progress in:\n%s", stderr)
	}
}

func TestCrashWritesJSON(t *testing.T) {
	t.Parallel()
	cmd, stdout, stderr := lab("crash", "--keys=10", "--kills=2", "--workers=2", "--json")
	if got := code(t, cmd.Run()); got != 0 {
		t.Fatalf("exit code %d\n%s", got, stderr)
	}
	var doc struct {
		Experiment, PostgreSQL, Redis string
		Result                        crash.Result
		Findings                      []report.Finding
	}
	d := json.NewDecoder(stdout)
	d.DisallowUnknownFields()
	if err := d.Decode(&doc); err != nil || d.More() {
		t.Fatalf("not one JSON document: %v", err)
	}
	result := doc.Result
	if doc.Experiment != "crash" || doc.PostgreSQL == "" || doc.Redis == "" || len(doc.Findings) != 14 ||
		result.Keys != 10 || result.Kills != 2 || len(result.Rows) != 13 {
		t.Errorf("%+v", doc)
	}
	for _, r := range result.Rows {
		if r.Kills != 2 || r.Once != (r.Duplicates == 0) || r.Seconds <= 0 || (r.Article == nil) != r.Ours {
			t.Errorf("%+v", r)
		}
	}
}

func TestWrongUseOfCrashIsExitCode2(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ args, says string }{
		{"crash now", `unknown command "now"`},
		{"crash --speed 9", "unknown flag: --speed"},
		{"crash --keys many", `invalid argument "many"`},
		{"crash --keys 0", "--keys is 0; it must be at least 1"},
		{"crash --keys 10 --kills 0", "--kills is 0; it must be 1 to 10"},
		{"crash --keys 10 --kills 11", "--kills is 11; it must be 1 to 10"},
		{"crash --workers 0", "--workers is 0; it must be 1 to 50"},
		{"crash --workers 51", "--workers is 51; it must be 1 to 50"},
	} {
		t.Run(c.args, func(t *testing.T) {
			cmd, stdout, stderr := lab(strings.Fields(c.args)...)
			if got := code(t, cmd.Run()); got != 2 {
				t.Errorf("exit code %d, want 2", got)
			}
			if !strings.Contains(stderr.String(), c.says) || !strings.Contains(stderr.String(), "--help") || stdout.Len() > 0 {
				t.Errorf("it says %q and prints %q; want %q", stderr, stdout, c.says)
			}
		})
	}
}

func TestCrashThatCannotRunIsExitCode1(t *testing.T) {
	t.Parallel()
	cmd, stdout, stderr := lab("crash-worker") // on an empty standard input
	if got := code(t, cmd.Run()); got != 1 || !strings.Contains(stderr.String(), "lab: read the job: EOF") || stdout.Len() > 0 {
		t.Errorf("exit code %d, %q, printed %q", got, stderr, stdout)
	}
}

func TestCrashFailsWithWhatIsNotAsItMustBe(t *testing.T) {
	t.Parallel()
	failed := report.Finding{Source: "pgidem", Claim: "It is safe.", Measured: "duplicate charges: 1", Must: true}
	s := report.Section{Findings: []report.Finding{failed}, Skipped: []string{"Redis SET NX: skipped"}}
	err := crashCommand().verdict(s, &workbench.Bench{SkipRedis: true})
	const want = "crash did not show what it is for:\n  pgidem: It is safe. Measured: duplicate charges: 1"
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %q", err, want)
	}
	s.Findings[0].Holds = true
	if err := crashCommand().verdict(s, &workbench.Bench{SkipRedis: true}); err != nil {
		t.Error(err)
	}
	err = crashCommand().verdict(s, new(workbench.Bench))
	if err == nil || !strings.Contains(err.Error(), "\n  Redis SET NX: skipped") {
		t.Errorf("error %v, want what nobody asked to leave out", err)
	}
}

func TestCrashWithoutRedisSkipsItsRow(t *testing.T) {
	t.Parallel()
	cmd, stdout, stderr := lab("crash", "--keys=10", "--kills=2", "--workers=2", "--skip-redis")
	if got := code(t, cmd.Run()); got != 0 {
		t.Fatalf("exit code %d\n%s", got, stderr)
	}
	for _, text := range []string{"skipped: --skip-redis", "became a second charge, 2 times of 2"} {
		if !strings.Contains(stdout.String(), text) {
			t.Errorf("no %q in:\n%s", text, stdout)
		}
	}
}

func TestHelpOfCrashNamesEveryFlagAndNoWorker(t *testing.T) {
	t.Parallel()
	cmd, stdout, _ := lab("crash", "--help")
	if got := code(t, cmd.Run()); got != 0 {
		t.Errorf("exit code %d", got)
	}
	for _, flag := range []string{"--keys", "--kills", "--workers", "--skip-redis", "--json"} {
		if !strings.Contains(stdout.String(), flag) {
			t.Errorf("no %s in:\n%s", flag, stdout)
		}
	}
	cmd, stdout, _ = lab("--help")
	got, help := code(t, cmd.Run()), stdout.String()
	if got != 0 || strings.Contains(help, "crash-worker") || !strings.Contains(help, "crash ") {
		t.Errorf("exit code %d\n%s", got, stdout)
	}
}

func TestInterruptOfCrashLeavesNothing(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("/tmp", "lab-test-") // which the account that the server runs as can enter
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd, stdout, _ := lab("crash")
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
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "crash: design 1 ") {
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
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
