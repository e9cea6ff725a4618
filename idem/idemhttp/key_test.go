package idemhttp_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/pgidem/pgidem/idem/idemhttp"
)

// spelling is one way to write a key into a header.
type spelling struct {
	name  string
	lines []string
}

// malformed are header lines that hold no key. None of them may be taken for another request's key, nor fail at the database
// after the effect.
func malformed() []spelling {
	long := func(n int) string { return strings.Repeat("k", n) }
	return []spelling{
		{"two lines", []string{"a", "b"}},
		{"two equal lines", []string{"a", "a"}},
		{"two lines, one empty", []string{"a", ""}},
		{"three quoted lines", []string{`"a"`, `"a"`, `"a"`}},
		{"a list", []string{"a, b"}},
		{"a list without blank", []string{"a,b"}},
		{"a list of strings", []string{`"a", "b"`}},
		{"empty", []string{""}},
		{"blanks", []string{"    "}},
		{"an empty string", []string{`""`}},
		{"a tab inside", []string{"a\tb"}},
		{"a blank inside", []string{"a b"}},
		{"a byte of Latin-1", []string{"cl\xe9"}},
		{"é in UTF-8", []string{"clé"}},
		{"256 bytes", []string{long(256)}},
		{"8 KB", []string{long(8 << 10)}},
		{"256 bytes, quoted", []string{`"` + long(256) + `"`}},
		{"256 bytes after escapes", []string{`"` + long(255) + `\""`}},
		{"a quote that does not end", []string{`"a`}},
		{"a quote alone", []string{`"`}},
		{"a quote at the end", []string{`a"`}},
		{"a quote inside", []string{`a"b`}},
		{"text after the string", []string{`"a"b`}},
		{"an escape that there is not", []string{`"a\b"`}},
		{"an escape of the end", []string{`"a\"`}},
		{"a tab in a string", []string{"\"a\tb\""}},
		{"é in a string", []string{`"clé"`}},
		{"a backslash", []string{`a\b`}},
		{"a bare key with a parameter", []string{"a;v=1"}},
		{"a parameter without a name", []string{`"a";`}},
		{"a parameter in capitals", []string{`"a";V=1`}},
		{"a parameter without its value", []string{`"a";v=`}},
		{"a parameter of no type", []string{`"a";v=(1)`}},
		{"a blank before a parameter", []string{`"a" ;v=1`}},
	}
}

// wellFormed are header lines and the keys that they hold.
func wellFormed() map[string]spelling {
	most := strings.Repeat("k", 255)
	return map[string]spelling{
		"5f0c1c0e-8d7e-4f6b-9a0f-2f3d1f6a7b01": {"bare", []string{"5f0c1c0e-8d7e-4f6b-9a0f-2f3d1f6a7b01"}},
		"quoted":                               {"quoted", []string{`"quoted"`}},
		"!#$%&'()*+-./09:<=>?@AZ[]^_`az{|}~":   {"all that a bare key may hold", []string{"!#$%&'()*+-./09:<=>?@AZ[]^_`az{|}~"}},
		"a, b; c":                              {"what only a string may hold", []string{`"a, b; c"`}},
		`a"\b`:                                 {"escapes", []string{`"a\"\\b"`}},
		" ":                                    {"a blank that is the key", []string{`" "`}},
		"outer":                                {"blanks around", []string{"  outer "}},
		"outer string":                         {"blanks around a string", []string{` "outer string"  `}},
		"parameters":                           {"parameters", []string{`"parameters";v=1; *t="x;y";f;d=@-1;b=:aGk=:;n=%"%c3%a9";tok=a/b`}},
		most:                                   {"255 bytes", []string{most}},
		`"` + most[1:]:                         {"255 bytes after escapes", []string{`"\"` + most[1:] + `"`}},
	}
}

func TestMalformedKeysAreRefused(t *testing.T) {
	for _, s := range append(malformed(),
		spelling{"NUL", []string{"a\x00"}},
		spelling{"DEL", []string{"a\x7f"}},
		spelling{"NUL in a string", []string{"\"a\x00\""}},
		spelling{"a line end", []string{"a\r\nb"}},
		spelling{"a tab before", []string{"\ta"}},
	) {
		key, err := idemhttp.ParseKey(s.lines)
		if key != "" || !errors.Is(err, idemhttp.ErrMalformedKey) || errors.Is(err, idemhttp.ErrMissingKey) {
			t.Errorf("%s: ParseKey(%.40q) = %.40q, %v; want ErrMalformedKey", s.name, s.lines, key, err)
		}
	}
}

func TestWellFormedKeysAreRead(t *testing.T) {
	for want, s := range wellFormed() {
		if got, err := idemhttp.ParseKey(s.lines); got != want || err != nil {
			t.Errorf("%s: ParseKey(%.40q) = %.40q, %v; want %q", s.name, s.lines, got, err, want)
		}
	}
}

func TestNoLineIsAMissingKey(t *testing.T) {
	for _, lines := range [][]string{nil, {}} {
		if key, err := idemhttp.ParseKey(lines); key != "" || !errors.Is(err, idemhttp.ErrMissingKey) || errors.Is(err, idemhttp.ErrMalformedKey) {
			t.Errorf("ParseKey(%#v) = %q, %v; want ErrMissingKey", lines, key, err)
		}
	}
}

// What is wrong with a key is told, and the key is not.
func TestRefusalDoesNotRepeatTheKey(t *testing.T) {
	for _, lines := range [][]string{{"secret, secret"}, {"secret", "secret"}, {`"secret`}, {strings.Repeat("secret", 50)}} {
		if _, err := idemhttp.ParseKey(lines); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("ParseKey(%.30q): %v", lines, err)
		}
	}
}
