package report

import (
	"regexp"
	"strings"
	"testing"
)

func TestProgressWithoutATerminalIsALine(t *testing.T) {
	var b strings.Builder
	sent, ended := Progress{W: &b}.Start("storm: no key", 5000)
	sent()
	if b.Len() > 0 {
		t.Errorf("it says %q before the end", b.String())
	}
	ended()
	if !regexp.MustCompile(`^storm: no key: 5,000 done in [0-9.]+ s\n$`).MatchString(b.String()) {
		t.Errorf("it says %q", b.String())
	}
}

func TestProgressOnATerminalIsABarThatVanishes(t *testing.T) {
	var b strings.Builder
	sent, ended := Progress{W: &b, Terminal: true}.Start("storm: no key", 2)
	sent()
	sent()
	ended()
	if !strings.Contains(b.String(), "storm: no key") || !strings.Contains(b.String(), "/2") || strings.Contains(b.String(), "\n") {
		t.Errorf("no bar: %q", b.String())
	}
	if !strings.HasSuffix(b.String(), "\x1b[2K\r") {
		t.Errorf("the line is not cleared: %q", b.String())
	}
}
