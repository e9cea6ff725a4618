package oracle_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/dunglas/httpsfv"

	"github.com/pgidem/pgidem/idem/idemhttp"
)

// FuzzKeyAgainstHTTPSFV compares two readers of a header whose value is a string (RFC 9651 section 4.2): from its opening quote
// on, a key is accepted where the other reader finds a string of 1 to 255 bytes, and is that string.
func FuzzKeyAgainstHTTPSFV(f *testing.F) {
	for _, seed := range []string{
		`5f0c1c0e-8d7e-4f6b-9a0f-2f3d1f6a7b01"`, `"`, `a`, ``, `a" `, ` a "`, `a"b`, `a", "b"`, `a\"\\b"`, `a\b"`, `a\`, "a\tb\"", `é"`, "\xff\"", "\x7f\"",
		strings.Repeat("k", 255) + `"`, strings.Repeat("k", 256) + `"`, strings.Repeat(`\\`, 255) + `"`,
		`a";b`, `a"; b;*c`, `a";B`, `a";`, `a" ;b`, `a";b=`, `a";b c`,
		`a";b=1`, `a";b=-999999999999999`, `a";b=9999999999999999`, `a";b=-`, `a";b=00`,
		`a";b=1.5`, `a";b=123456789012.123`, `a";b=1234567890123.1`, `a";b=1.`, `a";b=.5`, `a";b=1.2345`,
		`a";b="c"`, `a";b="\""`, `a";b=tok/en:*`, `a";b=*`, `a";b=:aGk=:`, `a";b=:aGk:`, `a";b=::`, `a";b=?1`, `a";b=?2`,
		`a";b=@1659578233`, `a";b=@-1`, `a";b=@1.5`, `a";b=%"caf%c3%a9"`, `a";b=%"%C3%A9"`, `a";b=%"%ff"`, `a";b=%"`, `a";b=(1 2)`,
	} {
		f.Add("", seed)
		f.Add("  ", seed)
	}
	f.Fuzz(func(t *testing.T, before, rest string) {
		line := strings.Repeat(" ", len(before)%4) + `"` + rest
		key, err := idemhttp.ParseKey([]string{line})
		item, complaint := httpsfv.UnmarshalItem([]string{line})
		text, _ := item.Value.(string)
		switch accepts := complaint == nil && 1 <= len(text) && len(text) <= 255; {
		case accepts != (err == nil):
			t.Fatalf("%q: ParseKey says %q, %v; httpsfv says %q, %v", line, key, err, text, complaint)
		case accepts && key != text:
			t.Fatalf("%q: ParseKey says %q, httpsfv says %q", line, key, text)
		case !accepts && (key != "" || !errors.Is(err, idemhttp.ErrMalformedKey)):
			t.Fatalf("%q: ParseKey says %q, %v", line, key, err)
		}
	})
}

// FuzzKeyIsWhatHTTPSFVWrites goes the other way: what the other program writes for a text is read as that text.
func FuzzKeyIsWhatHTTPSFVWrites(f *testing.F) {
	for _, seed := range []string{"k", `a"b\c`, "a, b; c", " ", "", "é", "\x00", strings.Repeat(`"`, 255)} {
		f.Add(seed, "p", seed)
	}
	f.Fuzz(func(t *testing.T, text, name, value string) {
		value = strings.ToValidUTF8(value, "") // which the other program's writer takes for granted in a display string
		item := httpsfv.NewItem(text)
		for _, v := range []any{true, value, httpsfv.Token(value), httpsfv.DisplayString(value), []byte(value), int64(len(value)), 0.5} {
			item.Params.Add(name, v)
			line, err := httpsfv.Marshal(item)
			if err != nil || text == "" || len(text) > 255 {
				continue
			}
			if key, err := idemhttp.ParseKey([]string{line}); key != text || err != nil {
				t.Fatalf("%q is written %q, and read %q, %v", text, line, key, err)
			}
		}
	})
}
