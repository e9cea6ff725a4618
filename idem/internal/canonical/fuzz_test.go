package canonical_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/pgidem/pgidem/idem/internal/canonical"
)

// FuzzJSON compares JSON with a second implementation, which decodes with encoding/json and encodes again. What encoding/json
// lets pass is refused beforehand.
func FuzzJSON(f *testing.F) {
	for _, seed := range []string{
		``, `0`, `-0`, `1.50e+10`, `true`, ` null `, `"\ud83d\ude00\u00e9\/\n"`, `"\ud800"`, "\"\xff\"", "\"\u2028\ufffd\"",
		`{"to":9007199254740993,"n":5}`, `{"amount":1,"amount":900}`, `{"amount":1,"AMOUNT":900}`, `{"\u0061":1,"a":2}`,
		`[{"b":[{"d":0,"c":1}],"a":{}},[],{"y":1,"x":{"q":"","p":null}}]`, `{"a":1} x`, `{"a":1,}`, `1e400`, `[[[[]]]]`, "1\x00",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		before := bytes.Clone(doc)
		got, ok := canonical.JSON(doc)
		want, wantOK := oracle(doc)
		if ok != wantOK || string(got) != want {
			t.Fatalf("JSON(%q) = %q, %t; the oracle says %q, %t", doc, got, ok, want, wantOK)
		}
		if !bytes.Equal(doc, before) {
			t.Fatalf("JSON(%q) changed its argument to %q", before, doc)
		}
		if !ok {
			return
		}
		if len(got) > len(doc) {
			t.Fatalf("JSON(%q) = %q, which is longer", doc, got)
		}
		if again, ok := canonical.JSON(got); !ok || !bytes.Equal(again, got) {
			t.Fatalf("JSON(%q) = %q, not itself", got, again)
		}
	})
}

var (
	// In valid JSON a backslash begins an escape, and matches do not overlap: submatch 1 is a surrogate without its other half.
	surrogates = regexp.MustCompile(`\\u[dD][89abAB]..\\u[dD][c-fC-F]..|(\\u[dD][89a-fA-F])|\\.`)
	separators = regexp.MustCompile(`\\u202[89]|\\.`)
)

func oracle(doc []byte) (string, bool) {
	if !utf8.Valid(doc) || !json.Valid(doc) {
		return "", false
	}
	for _, m := range surrogates.FindAllSubmatch(doc, -1) {
		if m[1] != nil {
			return "", false
		}
	}
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	return reencode(d, 0)
}

func reencode(d *json.Decoder, depth int) (string, bool) {
	token, err := d.Token()
	if err != nil {
		return "", false
	}
	switch token := token.(type) {
	case json.Number:
		return token.String(), true
	case json.Delim:
		if depth == 1000 {
			return "", false
		}
		if token == '[' {
			return reencodeArray(d, depth+1)
		}
		return reencodeObject(d, depth+1)
	default:
		var b strings.Builder
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		if err := e.Encode(token); err != nil {
			return "", false
		}
		// The Encoder escapes U+2028 and U+2029, for JavaScript's sake.
		return separators.ReplaceAllStringFunc(strings.TrimSuffix(b.String(), "\n"), func(s string) string {
			return strings.NewReplacer(`\u2028`, "\u2028", `\u2029`, "\u2029").Replace(s)
		}), true
	}
}

func reencodeArray(d *json.Decoder, depth int) (string, bool) {
	var values []string
	for d.More() {
		value, ok := reencode(d, depth)
		if !ok {
			return "", false
		}
		values = append(values, value)
	}
	_, err := d.Token()
	return "[" + strings.Join(values, ",") + "]", err == nil
}

func reencodeObject(d *json.Decoder, depth int) (string, bool) {
	members := map[string]string{} // by the spelling of the name, without quotes
	for d.More() {
		name, ok := reencode(d, depth)
		if !ok {
			return "", false
		}
		value, ok := reencode(d, depth)
		if !ok {
			return "", false
		}
		name = name[1 : len(name)-1]
		if _, twice := members[name]; twice {
			return "", false
		}
		members[name] = value
	}
	var b []string
	for _, name := range slices.Sorted(maps.Keys(members)) {
		b = append(b, `"`+name+`":`+members[name])
	}
	_, err := d.Token()
	return "{" + strings.Join(b, ",") + "}", err == nil
}
