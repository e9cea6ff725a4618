package canonical_test

import (
	"bytes"
	"encoding/json"
	"math/big"
	"reflect"
	"regexp"
	"testing"

	"github.com/pgidem/pgidem/idem/internal/canonical"
)

// FuzzMeaning decodes documents and compares what they say: a text says what its document says, to the last digit, and two
// documents have one text exactly when they say the same and spell their numbers alike.
func FuzzMeaning(f *testing.F) {
	for _, seed := range [][2]string{
		{`{"b":[1,{"d":0,"c":-0}],"a":"\u00e9"}`, ` {"\u0061":"é", "b":[1,{"c":-0,"d":0}]} `},
		{`9007199254740992`, `9007199254740993`},
		{`18446744073709551616`, `18446744073709551617`},
		{`0.1`, `0.10000000000000001`},
		{`1`, `1.0`}, {`100`, `1e2`}, {`1e2`, `1E+2`}, {`1e400`, `1e401`}, {`1e-400`, `0`}, {`-0.0e9`, `-0`},
		{`{"a":null}`, `{}`}, {`{"a":1,"a":1}`, `{"a":1}`}, {`"\ud83d\ude00"`, `"😀"`}, {`[]`, `{}`}, {`"1"`, `1`},
	} {
		f.Add([]byte(seed[0]), []byte(seed[1]))
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		textA, okA := canonical.JSON(a)
		textB, okB := canonical.JSON(b)
		if okA && !equal(said(t, a), said(t, textA)) {
			t.Fatalf("JSON(%q) = %q, which says something else", a, textA)
		}
		if !okA || !okB {
			return
		}
		spokenA, spokenB := said(t, a), said(t, b)
		if one := bytes.Equal(textA, textB); one != reflect.DeepEqual(spokenA, spokenB) {
			t.Fatalf("%q and %q: one text: %t", a, b, one)
		} else if one && !equal(spokenA, spokenB) {
			t.Fatalf("%q and %q have one text and say two things", a, b)
		}
	})
}

// said is what a document says, its numbers as they are spelled.
func said(t *testing.T, doc []byte) (v any) {
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%q has a canonical text, but: %v", doc, err)
	}
	return v
}

// equal compares what documents say, numbers by their value.
func equal(a, b any) bool {
	switch a := a.(type) {
	case json.Number:
		b, ok := b.(json.Number)
		return ok && sameNumber(a.String(), b.String())
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !equal(a[i], b[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for name := range a {
			if other, ok := b[name]; !ok || !equal(a[name], other) {
				return false
			}
		}
		return true
	}
	return a == b
}

var vast = regexp.MustCompile(`[eE][+-]?\d{4}`)

// sameNumber compares two numbers exactly; where that takes thousands of digits, by their spelling.
func sameNumber(a, b string) bool {
	if vast.MatchString(a) || vast.MatchString(b) {
		return a == b
	}
	x, okX := new(big.Rat).SetString(a)
	y, okY := new(big.Rat).SetString(b)
	return okX && okY && x.Cmp(y) == 0
}
