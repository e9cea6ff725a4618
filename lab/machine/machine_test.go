package machine

import (
	"encoding/json"
	"os/exec"
	"runtime"
	"strings"
	"testing"
)

func TestThisMachineIsDescribed(t *testing.T) {
	t.Parallel()
	m := This(t.Context())
	if m.Cores < 1 || m.Go != runtime.Version() || m.CPU == "" || m.OS == "" {
		t.Errorf("%+v", m)
	}
	if runtime.GOOS == "linux" && (m.MemoryBytes < 64<<20 || !strings.Contains(m.OS, "Linux")) {
		t.Errorf("%+v", m)
	}
	if head, err := exec.Command("git", "rev-parse", "HEAD").Output(); err == nil && m.Commit != strings.TrimSpace(string(head)) {
		t.Errorf("commit %s, want %s", m.Commit, head)
	}
	text, err := json.Marshal(m)
	if err != nil || !strings.Contains(string(text), `"memory_bytes":`) {
		t.Errorf("%s, %v", text, err)
	}
}

func TestOutsideTheCheckoutTheCommitIsNotAnothers(t *testing.T) {
	dir := t.TempDir()
	if out, err := exec.Command("git", "init", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Chdir(dir)
	if m := This(t.Context()); m.Commit != Unknown {
		t.Errorf("commit %s; a test binary outside of the checkout does not know it", m.Commit)
	}
}

func TestTextsOfTheSystemAreRead(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, got, want string }{
		{"model", model("processor\t: 0\nvendor_id\t: AuthenticAMD\nmodel\t\t: 1\nmodel name\t: AMD EPYC  7B13\n"), "AMD EPYC 7B13"},
		{"no model", model("processor: 0\n"), ""},
		{"system", pretty("NAME=\"Debian\"\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n"), "Debian GNU/Linux 12 (bookworm)"},
		{"no system", pretty(""), ""},
		{"kernel alone", join("", "Linux 6.1"), "Linux 6.1"},
	} {
		if c.got != c.want {
			t.Errorf("%s: %q, want %q", c.name, c.got, c.want)
		}
	}
	if got := total("MemTotal:       24552616 kB\nMemFree: 1 kB\n"); got != 24552616<<10 {
		t.Errorf("memory %d", got)
	}
	if got := total("MemFree: 1 kB\n"); got != 0 {
		t.Errorf("memory %d, want 0: unknown", got)
	}
}
