package canonical_test

import (
	"bytes"
	"runtime"
	"strings"
	"testing"

	"github.com/pgidem/pgidem/idem/internal/canonical"
)

// same fails unless all docs have one canonical text, and it is want.
func same(t *testing.T, want string, docs ...string) {
	t.Helper()
	for _, doc := range docs {
		if got, ok := canonical.JSON([]byte(doc)); !ok || string(got) != want {
			t.Errorf("JSON(%q) = %q, %t; want %q", doc, got, ok, want)
		}
	}
}

// distinct fails unless every doc has a canonical text that no other has.
func distinct(t *testing.T, docs ...string) {
	t.Helper()
	seen := map[string]string{}
	for _, doc := range docs {
		got, ok := canonical.JSON([]byte(doc))
		if !ok {
			t.Errorf("JSON(%q) refuses", doc)
		}
		if other, dup := seen[string(got)]; dup {
			t.Errorf("%q and %q have one canonical text: %s", other, doc, got)
		}
		seen[string(got)] = doc
	}
}

// refused fails unless no doc has a canonical text.
func refused(t *testing.T, docs ...string) {
	t.Helper()
	for _, doc := range docs {
		if got, ok := canonical.JSON([]byte(doc)); ok || got != nil {
			t.Errorf("JSON(%.60q) = %.60q, %t; want nil, false", doc, got, ok)
		}
	}
}

func TestKeyOrderDoesNotMatter(t *testing.T) {
	same(t, `{"a":1,"b":2}`, `{"a":1,"b":2}`, `{"b":2,"a":1}`)
	same(t, `{"":{"p":{"x":[],"y":{}},"q":0},"a":[{"c":3,"d":4},5]}`,
		`{"a":[{"d":4,"c":3},5],"":{"q":0,"p":{"y":{},"x":[]}}}`)
	same(t, `[{"a":1,"b":2},{"k":{"c":3,"d":4}}]`, `[{"b":2,"a":1},{"k":{"d":4,"c":3}}]`)
	same(t, `{"A":1,"\"":2,"\\":3,"\u0001":4,"a":5,"é":6,"＀":7,"😀":8}`,
		`{"😀":8,"＀":7,"é":6,"a":5,"\u0001":4,"\\":3,"\"":2,"A":1}`)
}

func TestWhiteSpaceDoesNotMatter(t *testing.T) {
	same(t, `{"a":[1,true,"x y"],"b":{}}`, " {\t\"a\" :\r\n[ 1 , true,\"x y\" ] ,\"b\": { } }\n")
	refused(t, "\u00a01", "\ufeff{}", "\v1", "1\f", "\x001", "1\x00", "- 1", "tr ue", "1 2")
}

func TestEscapesDoNotMatter(t *testing.T) {
	same(t, `"é"`, `"é"`, `"\u00e9"`, `"\u00E9"`)
	same(t, `"😀"`, `"😀"`, `"\ud83d\ude00"`, `"\uD83D\uDE00"`)
	same(t, `"</&>"`, `"</&>"`, `"\u003c\/\u0026\u003E"`)
	same(t, "\"\u2028\u2029\ufffd\x7f\"", "\"\u2028\u2029\ufffd\x7f\"", `"\u2028\u2029\uFFFD\u007f"`)
	same(t, `"\"\\\b\f\n\r\t"`, `"\"\\\b\f\n\r\t"`, `"\u0022\u005c\u0008\u000c\u000a\u000d\u0009"`)
	same(t, `"\u0000\u001f"`, `"\u0000\u001F"`)
	same(t, `{"a":1,"b":2}`, `{"\u0062":2,"\u0061":1}`)
	distinct(t, `"\u00e9"`, `"e\u0301"`, `"\\u00e9"`, `"u00e9"`, `"\u0000"`, `""`)
}

func TestBigIntegersKeepEveryDigit(t *testing.T) {
	distinct(t, `{"to":9007199254740992,"n":5}`, `{"to":9007199254740993,"n":5}`)
	distinct(t, `18446744073709551616`, `18446744073709551617`)
	distinct(t, `0.1`, `0.10000000000000001`)
	distinct(t, `1e400`, `1e401`, `-1e400`, `1e-400`, `0`)
}

func TestNumbersAreTheirSpelling(t *testing.T) {
	distinct(t, `1`, `1.0`, `1.00`, `1e0`, `1E0`, `1e+0`, `1e-0`, `1e00`, `"1"`, `10`, `-1`)
	distinct(t, `{"a":1.0}`, `{"a":1}`)
	distinct(t, `-0`, `0`, `0.0`, `-0.0`, `0e1`)
	refused(t, `01`, `-01`, `00`, `+1`, `.5`, `1.`, `1.e1`, `1e`, `1e+`, `-`, `--1`, `0x1`, `1_0`, `NaN`, `Infinity`, `1,`)
}

func TestDuplicateNamesAreRefused(t *testing.T) {
	refused(t, `{"amount":1,"amount":900}`, `{"amount":900,"amount":1}`, `{"amount":1,"amount":1}`)
	refused(t, `{"a":1,"\u0061":2}`, `{"":0,"":0}`, `{"b":1,"a":2,"b":3}`, `[{"x":{"a":1,"b":2,"a":3}}]`)
	refused(t, `{"\ud83d\ude00":1,"😀":2}`, `{"\n":1,"\u000a":2}`)
	distinct(t, `{"amount":900}`, `{"a":{"amount":900},"amount":900}`, `[{"amount":900},{"amount":900}]`)
}

func TestNamesInAnotherCaseAreOtherNames(t *testing.T) {
	distinct(t, `{"amount":1,"AMOUNT":900}`, `{"AMOUNT":1,"amount":900}`, `{"amount":900}`, `{"AMOUNT":900}`)
}

func TestOtherValuesAreOtherTexts(t *testing.T) {
	distinct(t, `null`, `{}`, `[]`, `""`, `false`, `true`, `0`, `[null]`, `{"a":null}`, `[[]]`, `[{}]`, `"null"`, `"[]"`)
	distinct(t, `[1,2]`, `[2,1]`, `[12]`, `["1,2"]`, `[[1],2]`, `[1,[2]]`, `[[1,2]]`)
	distinct(t, `{"a":"b"}`, `{"b":"a"}`, `{"a":{"b":1},"c":2}`, `{"a":{"b":1,"c":2}}`, `{"a\":\"b":1}`)
}

func TestBytesThatAreNotUTF8AreRefused(t *testing.T) {
	refused(t, "\"\xff\"", "\"\xc3\"", "\"\xc0\xaf\"", "\"\xed\xa0\x80\"", "\"\xf4\x90\x80\x80\"", "{\"\xe9\":1}", "1\xff")
}

func TestLoneSurrogatesAreRefused(t *testing.T) {
	refused(t, `"\ud800"`, `"\udc00"`, `"\ud800x"`, `"\ud800\n"`, `"\ud800\u0041"`, `"\ud800\ud800"`, `"\udc00\ud800"`)
	refused(t, `"\ud800\ud800\udc00"`, `"\ud800\\udc00"`, `{"\uDFFF":1}`, `"\ud800\udc0`)
}

func TestOnlyOneWholeDocumentIsAccepted(t *testing.T) {
	refused(t, ``, ` `, `{"a":1} x`, `{"a":1}{"a":1}`, `{}]`, `{}//`, `nullnull`)
	refused(t, `{`, `[`, `"`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":1,}`, `{,}`, `{a:1}`, `{1:1}`, `{"a" 1}`, `{"a":1"b":2}`)
	refused(t, `[1`, `[1,`, `[1,]`, `[,1]`, `[1 2]`, `[1:2]`, `[}`, `{]`, `]`, `:`, `,`, `nul`, `True`, `tru`, `'a'`)
	refused(t, `"\"`, `"\x41"`, `"\u"`, `"\u12`, `"\u12"`, `"\u12G4"`, `"\u+123"`, `"\`, `"\U0041"`)
	refused(t, "\"\n\"", "\"\x00\"", "\"\x1f\"")
}

func TestNestingIsBounded(t *testing.T) {
	nest := func(n int) string { return strings.Repeat(`[`, n) + strings.Repeat(`]`, n) }
	distinct(t, nest(1), nest(999), nest(1000))
	refused(t, nest(1001), nest(10_000))
	refused(t, strings.Repeat(`[`, 10_000_000), strings.Repeat(`{"a":`, 10_000_000)) // the stack stays small
	refused(t, strings.Repeat(`[{"a":`, 500)+`[]`+strings.Repeat(`}]`, 500))
	same(t, `[`+strings.Repeat(`[],`, 2000)+`[]]`, `[`+strings.Repeat(`[],`, 2000)+`[]]`) // wide is not deep
}

func TestDocumentIsLeftAlone(t *testing.T) {
	doc := []byte(` {"b":"\u0061","a":1} `)
	before := bytes.Clone(doc)
	got, _ := canonical.JSON(doc)
	for i := range got {
		got[i] = 'x'
	}
	if !bytes.Equal(doc, before) {
		t.Errorf("JSON changed its argument to %q", doc)
	}
}

// hostile are documents of about size bytes, each made to be dear.
func hostile(size int) map[string][]byte {
	names := make([]string, size/8)
	for i := range names {
		names[i] = `"` + string([]byte{'a' + byte(i*7%26), 'a' + byte(i/26%26), 'a' + byte(i/676%26), 'a' + byte(i/17576)}) + `":0`
	}
	deep := strings.Repeat(`{"b":`, 999) + `"` + strings.Repeat("x", size) + `"` + strings.Repeat(`,"a":0}`, 999)
	return map[string][]byte{
		"one string":       []byte(`"` + strings.Repeat(`\n`, size/2) + `"`),
		"many numbers":     []byte(`[` + strings.Repeat(`0,`, size/2) + `0]`),
		"many members":     []byte(`{` + strings.Join(names, `,`) + `}`),
		"many objects":     []byte(`[` + strings.Repeat(`{"a":0,"":0},`, size/13) + `0]`),
		"many empty ones":  []byte(`[` + strings.Repeat(`{},`, size/3) + `0]`),
		"a long name":      []byte(`{"b` + strings.Repeat("x", size) + `":0,"a":1}`),
		"deep, unordered":  []byte(deep),
		"cut off":          bytes.Repeat([]byte(`[{"b":0,"a":`), size/12),
		"white space only": bytes.Repeat([]byte(` `), size),
	}
}

func TestMemoryIsBoundedByTheDocument(t *testing.T) {
	for name, doc := range hostile(1 << 20) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		canonical.JSON(doc)
		runtime.ReadMemStats(&after)
		times := float64(after.TotalAlloc-before.TotalAlloc) / float64(len(doc))
		t.Logf("%-16s allocates %4.1f times its size", name, times)
		if times > 32 {
			t.Errorf("%s: allocates %.1f times its size", name, times)
		}
	}
}

func BenchmarkJSON(b *testing.B) {
	for name, doc := range hostile(1 << 20) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(doc)))
			b.ReportAllocs()
			for b.Loop() {
				canonical.JSON(doc)
			}
		})
	}
}
