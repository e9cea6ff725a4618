package idem_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/pgidem/pgidem/idem"
)

// fingerprintArgs turns strings into parts.
func fingerprintArgs(parts ...string) [][]byte {
	args := make([][]byte, len(parts))
	for i, part := range parts {
		args[i] = []byte(part)
	}
	return args
}

// Golden vectors. They are in people's databases: a line may be added, never changed. Computed independently of this code:
//
//	printf 'pgidem fingerprint 1 parts\n\0\0\0\0\0\0\0\2ab\0\0\0\0\0\0\0\1c' | sha256sum
func TestFingerprintVersion1NeverChanges(t *testing.T) {
	// Every rule in one document: escapes, the order of names (after escaping, by bytes), white space, digits.
	const goldenDoc = ` {"😀":false, "＀":true, "\u00e9":null, "a":9007199254740993, "\u000a":{"b":1.50E+400, "a":-0},
		"A":"\u0022\u005C\/\u0008\u000c\u000A\u000D\u0009\u0000\u001F\u007f\u2028\u00E9\uD83D\uDE00", "" : [ ]} `
	for _, golden := range []struct {
		name string
		got  idem.Fingerprint
		want string
	}{
		{`FingerprintOf()`, idem.FingerprintOf(),
			"0143dcce960051fdc1cc11a3eb6a8c2924e19435f24720004b64a74b3d97c18d58"},
		{`FingerprintOf("")`, idem.FingerprintOf(nil),
			"012add5ef8e62c74ea2951b3f3293ba70e1c89add4f7338e854ef6dbf54c0987b3"},
		{`FingerprintOf("ab", "c")`, idem.FingerprintOf([]byte("ab"), []byte("c")),
			"0121a2c6a635a81c4d471864257b26dec3e1d7db8cda8ad4d08096c3c77d85777c"},
		{`FingerprintOf of 300 bytes`, idem.FingerprintOf(bytes.Repeat([]byte("x"), 300)),
			"01d4797727ca4576d95c10e7adbce97cd0684be46f75d62abd986c19b24772f60b"},
		{`FingerprintJSON of nothing`, idem.FingerprintJSON(nil),
			"011c0f5f8d0aac2d8d88d0b20c36b16c513e6fa846abbb482f96f2764f4258bed6"},
		{`FingerprintJSON of a value`, idem.FingerprintJSON([]byte(` null `), []byte("POST")),
			"01a4e9145a832e923de0a9613829cff28ee7792b0923731dcf014598f2781665e0"},
		{`FingerprintJSON of an object`, idem.FingerprintJSON([]byte(goldenDoc), []byte("POST"), []byte("/x")),
			"01bb05f9717767142a639e579d90802cff046094e03fd90c8a7a72303b3c6dd58b"},
		{`FingerprintJSON of a duplicate`, idem.FingerprintJSON([]byte(`{"a":1, "a":2}`), []byte("POST")),
			"019358166f943b46367e3d6db81be1ff58d27cadbd8fc5dd83a9870f8f85d90823"},
	} {
		if got := hex.EncodeToString([]byte(golden.got)); got != golden.want {
			t.Errorf("%s = %s; version 1 is %s. Another algorithm needs another version", golden.name, got, golden.want)
		}
	}
}

func TestFingerprintPartsDoNotRunTogether(t *testing.T) {
	seen := map[idem.Fingerprint]string{}
	for _, parts := range [][]string{
		{}, {""}, {"", ""}, {"a"}, {"a", ""}, {"", "a"}, {"ab", "c"}, {"a", "bc"}, {"abc"}, {"c", "ab"},
		{"\x00\x00\x00\x00\x00\x00\x00\x01a"}, {"a\x00\x00\x00\x00\x00\x00\x00\x01b"}, {"a", "b"},
	} {
		f := idem.FingerprintOf(fingerprintArgs(parts...)...)
		if other, dup := seen[f]; dup {
			t.Errorf("%q and %s have one fingerprint", parts, other)
		}
		seen[f] = fmt.Sprintf("%q", parts)
	}
	rapid.Check(t, func(t *rapid.T) {
		lists := rapid.SliceOfN(rapid.SliceOf(rapid.StringOfN(rapid.RuneFrom([]rune("a\x00\x01")), 0, 3, -1)), 2, 2).Draw(t, "lists")
		a, b := lists[0], lists[1]
		equal := fmt.Sprintf("%q", a) == fmt.Sprintf("%q", b)
		if (idem.FingerprintOf(fingerprintArgs(a...)...) == idem.FingerprintOf(fingerprintArgs(b...)...)) != equal {
			t.Fatalf("%q and %q: same fingerprint must mean same parts", a, b)
		}
		doc := []byte("{}")
		if (idem.FingerprintJSON(doc, fingerprintArgs(a...)...) == idem.FingerprintJSON(doc, fingerprintArgs(b...)...)) != equal {
			t.Fatalf("%q and %q beside a document: same fingerprint must mean same parts", a, b)
		}
	})
}

func TestFingerprintOfNilIsThatOfEmpty(t *testing.T) {
	if idem.FingerprintOf(nil, []byte("a")) != idem.FingerprintOf([]byte{}, []byte("a")) {
		t.Error("FingerprintOf: a nil part is not an empty one")
	}
	if idem.FingerprintJSON(nil, nil) != idem.FingerprintJSON([]byte{}, []byte{}) {
		t.Error("FingerprintJSON: a nil document or part is not an empty one")
	}
}

func TestFingerprintJSONReadsTheDocument(t *testing.T) {
	for _, same := range [][2]string{
		{`{"amount":1,"currency":"eur"}`, "{ \"currency\": \"eur\",\r\n\t\"amount\": 1 }\n"},
		{`{"name":"é/<😀"}`, `{"\u006eame":"\u00E9\/\u003c\ud83d\ude00"}`},
		{"\"\u2028\"", `"\u2028"`},
	} {
		if idem.FingerprintJSON([]byte(same[0])) != idem.FingerprintJSON([]byte(same[1])) {
			t.Errorf("%q and %q are one request", same[0], same[1])
		}
	}
}

func TestFingerprintJSONTellsRequestsApart(t *testing.T) {
	deep, shut := strings.Repeat("[", 1001), strings.Repeat("]", 1001)
	for name, docs := range map[string][]string{
		"big integers":    {`{"to":9007199254740992,"n":5}`, `{"to":9007199254740993,"n":5}`},
		"beyond 64 bits":  {`18446744073709551616`, `18446744073709551617`, `1e400`, `1e401`},
		"decimals":        {`0.1`, `0.10000000000000001`, `{"a":1}`, `{"a":1.0}`, `0`, `-0`},
		"duplicate names": {`{"amount":1,"amount":900}`, `{"amount":900,"amount":1}`, `{"amount":900}`, `{"amount":1}`},
		"other case":      {`{"amount":1,"AMOUNT":900}`, `{"AMOUNT":1,"amount":900}`, `{"amount":900}`},
		"trailing text":   {`{"a":1}`, `{"a":1} x`, `{"a":1}  x`, `{"a":1}{"a":1}`, ``, ` `},
		"not UTF-8":       {"\"\xff\"", "\"\xfe\"", "\"\ufffd\"", `"\ud800"`, `"\udbff"`, `"\ufffd"x`},
		"too deep":        {deep + shut, deep + " " + shut},
	} {
		t.Run(name, func(t *testing.T) {
			seen := map[idem.Fingerprint]string{}
			for _, doc := range docs {
				f := idem.FingerprintJSON([]byte(doc))
				if other, dup := seen[f]; dup {
					t.Errorf("%.40q and %.40q have one fingerprint", other, doc)
				}
				seen[f] = doc
			}
		})
	}
}

func TestFingerprintKindsNeverCollide(t *testing.T) {
	part, canonical, raw := []byte("part"), []byte(`{"a":1}`), []byte(`{"a":1,"a":2}`)
	seen := map[idem.Fingerprint]string{
		idem.FingerprintOf(part, canonical):   "parts that end in a canonical text",
		idem.FingerprintJSON(canonical, part): "a canonical document",
		idem.FingerprintOf(part, raw):         "parts that end in a raw document",
		idem.FingerprintJSON(raw, part):       "a raw document",
	}
	if len(seen) != 4 {
		t.Errorf("only these are told apart: %v", seen)
	}
}

func TestFingerprintJSONLeavesItsArgumentsAlone(t *testing.T) {
	doc, parts := []byte(` { "b" : 1, "a" : 2 } `), append(make([][]byte, 0, 4), []byte("one"), []byte("two"))
	before := bytes.Clone(doc)
	idem.FingerprintJSON(doc, parts...)
	if !bytes.Equal(doc, before) || parts[:3][2] != nil {
		t.Errorf("FingerprintJSON wrote to its arguments: %q, %q", doc, parts[:3])
	}
}

// What a row was stored under must be computed again for as long as it stands.
func TestFingerprintAtAVersionIsWhatThatVersionComputes(t *testing.T) {
	of, err := idem.FingerprintAt(1, []byte("a"), nil)
	if want := idem.FingerprintOf([]byte("a"), nil); err != nil || of != want {
		t.Errorf("FingerprintAt(1) = %x, %v; want %x", string(of), err, string(want))
	}
	for _, doc := range []string{` { "b" : 1, "a" : "\u00e9" } `, `{"a":1,"a":2}`, ``, `null`} {
		got, err := idem.FingerprintJSONAt(1, []byte(doc), []byte("POST"), nil)
		if want := idem.FingerprintJSON([]byte(doc), []byte("POST"), nil); err != nil || got != want {
			t.Errorf("FingerprintJSONAt(1, %q) = %x, %v; want %x", doc, string(got), err, string(want))
		}
	}
}

func TestFingerprintAtUnknownVersionIsAnError(t *testing.T) {
	for _, version := range []byte{0, 2, 255} {
		of, ofErr := idem.FingerprintAt(version, []byte("a"))
		doc, docErr := idem.FingerprintJSONAt(version, []byte("{}"), []byte("a"))
		for name, got := range map[string]struct {
			f   idem.Fingerprint
			err error
		}{"FingerprintAt": {of, ofErr}, "FingerprintJSONAt": {doc, docErr}} {
			if got.f != "" || got.err == nil || !strings.Contains(got.err.Error(), fmt.Sprintf("version %d is unknown", version)) {
				t.Errorf("%s(%d) = %x, %v", name, version, string(got.f), got.err)
			}
		}
	}
}

func TestFingerprintVersionIsItsFirstByte(t *testing.T) {
	for f, want := range map[idem.Fingerprint]byte{
		"":                          0,
		idem.AnyRequest:             0,
		idem.FingerprintOf():        1,
		idem.FingerprintJSON(nil):   1,
		idem.Fingerprint("\x07abc"): 7,
	} {
		if got := f.Version(); got != want {
			t.Errorf("%x.Version() = %d; want %d", string(f), got, want)
		}
	}
	if n := len(idem.FingerprintOf()); n != 33 {
		t.Errorf("a fingerprint of version 1 has %d bytes; want 33", n)
	}
}

func ExampleFingerprintJSON() {
	first := idem.FingerprintJSON([]byte(`{"amount": 4900, "currency": "eur"}`), []byte("POST"), []byte("/payments"))
	again := idem.FingerprintJSON([]byte(`{"currency":"\u0065ur","amount":4900}`), []byte("POST"), []byte("/payments"))
	other := idem.FingerprintJSON([]byte(`{"amount": 900000, "currency": "eur"}`), []byte("POST"), []byte("/payments"))
	fmt.Println(first == again, first == other)
	// Output: true false
}
