package devpg

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// These tests write programs and execute them, and hence do not run in
// parallel: a program that another goroutine's fork still holds open for
// writing cannot be executed.

// hidden is a Finder to which this machine has nothing: no PostgreSQL, no
// apt-get, no npm, and no right to install.
func hidden(t *testing.T) Finder {
	t.Helper()
	t.Setenv("PGIDEM_PG_BIN", "")
	t.Setenv("PGIDEM_PG_MAJOR", "")
	return Finder{
		Globs:     []string{},
		LookPath:  func(program string) (string, error) { return "", exec.ErrNotFound },
		Run:       func(cmd *exec.Cmd) error { t.Errorf("executes %s", cmd); return exec.ErrNotFound },
		Euid:      func() int { return 1000 },
		GOOS:      "linux",
		OSRelease: filepath.Join(t.TempDir(), "os-release"),
		Etc:       t.TempDir(),
		Cache:     t.TempDir(),
		Progress:  new(bytes.Buffer),
	}
}

// onPath lets a Finder find programs, by the directories they are in.
func onPath(paths ...string) func(string) (string, error) {
	return func(program string) (string, error) {
		for _, path := range paths {
			if filepath.Base(path) == program {
				return path, nil
			}
		}
		return "", exec.ErrNotFound
	}
}

// fake makes a directory with the programs of a pretended PostgreSQL.
func fake(t *testing.T, dir string, major int) string {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, program := range []string{"postgres", "initdb"} {
		script := fmt.Sprintf("#!/bin/sh\necho '%s (PostgreSQL) %d.4 (Pretended)'\n", program, major)
		if err := os.WriteFile(filepath.Join(dir, program), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestFinderTakesTheFirstPlaceThatWillDo(t *testing.T) {
	places := t.TempDir()
	on14 := fake(t, filepath.Join(places, "path"), 14)
	at9 := fake(t, filepath.Join(places, "usual/9/bin"), 9)
	at17 := fake(t, filepath.Join(places, "usual/17/bin"), 17)
	broken := fake(t, filepath.Join(places, "usual/99/bin"), 99)
	if err := os.Remove(filepath.Join(broken, "initdb")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		claim      string
		path       string
		bin        string
		major      int
		envBin     string
		envMajor   string
		want       string
		wantsMajor int
	}{
		{claim: "the highest version of the usual places", want: at17, wantsMajor: 17},
		{claim: "PATH before the usual places", path: on14, want: on14, wantsMajor: 14},
		{claim: "the chosen version", path: on14, major: 9, want: at9, wantsMajor: 9},
		{claim: "the chosen version on PATH", path: on14, major: 14, want: on14, wantsMajor: 14},
		{claim: "the version chosen by variable", path: on14, envMajor: "17", want: at17, wantsMajor: 17},
		{claim: "the directory before everything", path: on14, bin: at9, envMajor: "17", want: at9, wantsMajor: 9},
		{claim: "the directory of the variable", path: on14, envBin: at9, envMajor: "17", want: at9, wantsMajor: 9},
		{claim: "a version chosen in code before the variables", path: on14, major: 17, envBin: at9, want: at17, wantsMajor: 17},
		{claim: "a program on PATH without initdb is passed over", path: broken, want: at17, wantsMajor: 17},
	} {
		f := hidden(t)
		f.Globs = []string{filepath.Join(places, "usual/*/bin")}
		f.LookPath = onPath(filepath.Join(c.path, "postgres"))
		f.Bin, f.Major = c.bin, c.major
		t.Setenv("PGIDEM_PG_BIN", c.envBin)
		t.Setenv("PGIDEM_PG_MAJOR", c.envMajor)
		got, err := f.Find(t.Context())
		if err != nil {
			t.Errorf("%s: %v", c.claim, err)
		} else if got.Dir != c.want || got.Major != c.wantsMajor {
			t.Errorf("%s: %+v, want %d in %s", c.claim, got, c.wantsMajor, c.want)
		}
	}
}

func TestFinderRefusesAWrongVariable(t *testing.T) {
	for name, value := range map[string]string{"PGIDEM_PG_BIN": t.TempDir(), "PGIDEM_PG_MAJOR": "sixteen"} {
		f := hidden(t)
		t.Setenv(name, value)
		_, err := f.Find(t.Context())
		if err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), value) {
			t.Errorf("%s=%s: %v", name, value, err)
		}
	}
}

func TestWhoCannotInstallIsToldTheCommand(t *testing.T) {
	for _, c := range []struct {
		goos, release string
		root          bool
		want          string
	}{
		{"linux", "ID=debian\n", false, "run: sudo apt-get update && sudo apt-get install -y postgresql"},
		{"linux", "NAME=x\nID=linuxmint\nID_LIKE=\"ubuntu debian\"\n", false, "run: sudo apt-get update && sudo apt-get install -y postgresql"},
		{"linux", "ID=fedora\n", false, "run: sudo dnf install -y postgresql-server postgresql-contrib"},
		{"linux", "ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\n", true, "run: sudo dnf install -y postgresql-server postgresql-contrib"},
		{"linux", "", true, "PGIDEM_PG_BIN"},
		{"darwin", "", false, "run: brew install postgresql@17"},
	} {
		f := hidden(t)
		f.GOOS = c.goos
		if c.root {
			f.Euid = func() int { return 0 }
		}
		if err := os.WriteFile(f.OSRelease, []byte(c.release), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := f.Find(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %q: %v, want %q", c.goos, c.release, err, c.want)
		}
	}
}

func TestRootInstallsWithAptGetAndCreatesNoCluster(t *testing.T) {
	f := hidden(t)
	f.Euid = func() int { return 0 }
	f.LookPath = onPath("/usr/bin/apt-get")
	usual := t.TempDir()
	f.Globs = []string{filepath.Join(usual, "*/bin")}
	var ran []string
	f.Run = func(cmd *exec.Cmd) error {
		if !slices.Contains(cmd.Env, "DEBIAN_FRONTEND=noninteractive") {
			t.Errorf("%s may ask questions", cmd)
		}
		conf, err := os.ReadFile(filepath.Join(f.Etc, "postgresql-common/createcluster.conf"))
		if err != nil || !strings.Contains(string(conf), "create_main_cluster = false") {
			t.Errorf("before %s: createcluster.conf is %q (%v)", cmd, conf, err)
		}
		ran = append(ran, cmd.Args[1])
		if cmd.Args[1] == "install" {
			fake(t, filepath.Join(usual, "15/bin"), 15)
		}
		return nil
	}
	b, err := f.Find(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if b.Major != 15 || !slices.Equal(ran, []string{"update", "install"}) {
		t.Errorf("found %+v after apt-get %s", b, ran)
	}
	if said := f.Progress.(*bytes.Buffer).String(); !strings.Contains(said, "installing Debian's package postgresql with apt-get") {
		t.Errorf("it only says %q", said)
	}
	if _, err := f.Find(t.Context()); err != nil || len(ran) != 2 {
		t.Errorf("the second time (%v) apt-get runs again: %s", err, ran)
	}
}

func TestAdministratorsClusterSettingStays(t *testing.T) {
	f := hidden(t)
	path := filepath.Join(f.Etc, "postgresql-common/createcluster.conf")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("# mine\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := f.createNoCluster(); err != nil {
		t.Fatal(err)
	}
	if conf, _ := os.ReadFile(path); string(conf) != "# mine\n" {
		t.Errorf("overwritten with %q", conf)
	}
}

func TestFailedInstallNamesTheCommand(t *testing.T) {
	f := hidden(t)
	f.Euid = func() int { return 0 }
	f.LookPath = onPath("/usr/bin/apt-get")
	f.Run = func(*exec.Cmd) error { return fmt.Errorf("exit status 100") }
	if err := os.WriteFile(f.OSRelease, []byte("ID=debian\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := f.Find(t.Context())
	if err == nil || !strings.Contains(err.Error(), "exit status 100") || !strings.Contains(err.Error(), "sudo apt-get install -y postgresql") {
		t.Error(err)
	}
}
