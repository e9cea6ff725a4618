package idemhttp_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/pgidem/pgidem/idem/idemhttp"
)

var quoted = strings.NewReplacer(`"`, `\"`, `\`, `\\`)

// FuzzParseKey holds what is true of every header: internal/oracle compares with another reader of structured fields.
func FuzzParseKey(f *testing.F) {
	for _, s := range malformed() {
		f.Add(s.lines[0])
	}
	for _, s := range wellFormed() {
		f.Add(s.lines[0])
	}
	f.Fuzz(func(t *testing.T, line string) {
		key, err := idemhttp.ParseKey([]string{line})
		if err != nil {
			if key != "" || !errors.Is(err, idemhttp.ErrMalformedKey) {
				t.Fatalf("ParseKey(%q) = %q, %v", line, key, err)
			}
			return
		}
		if len(key) < 1 || len(key) > 255 || strings.ContainsFunc(key, func(c rune) bool { return c < ' ' || c > '~' }) {
			t.Fatalf("ParseKey(%q) = %q", line, key)
		}
		bare := !strings.HasPrefix(strings.TrimLeft(line, " "), `"`)
		if bare && key != strings.Trim(line, " ") {
			t.Fatalf("ParseKey(%q) = %q, not the bare key", line, key)
		}
		for _, same := range []string{`"` + quoted.Replace(key) + `"`, " " + line + "  ", `"` + quoted.Replace(key) + `";a;b="c"`} {
			if again, err := idemhttp.ParseKey([]string{same}); again != key || err != nil {
				t.Fatalf("ParseKey(%q) = %q, but ParseKey(%q) = %q, %v", line, key, same, again, err)
			}
		}
		for _, lines := range [][]string{{line, line}, {line, ""}, {line + "," + line}} {
			if again, err := idemhttp.ParseKey(lines); err == nil {
				t.Fatalf("ParseKey(%q) = %q", lines, again)
			}
		}
	})
}
