package idemhttp_test

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"

	"pgregory.net/rapid"
)

// value is a JSON value apart from its spelling.
type value struct {
	kind   byte     // '{', '[', '"' or '0': a number or a word
	text   string   // of a string, unescaped; of a number or a word, as it stands
	names  []string // of the members of an object
	values []*value // of an object or an array
}

var (
	words  = []string{"null", "true", "false", "0", "-0", "1", "1.0", "1e0", "1E+0", "1e400", "0.1", "9007199254740992", "9007199254740993"}
	runes  = []rune("abAB01 /\"\\\b\n\x00\x1f\x7fé\u0301<&\u2028\ufffd\uff00😀")
	blanks = []string{"", " ", "\t", "\r\n", " \n "}
)

// anyText draws the text of a string or a name. It has no dot: Omit and Only could not name the member.
func anyText() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string { return string(rapid.SliceOfN(rapid.SampledFrom(runes), 0, 3).Draw(t, "text")) })
}

// document draws a value of at most depth levels, whose outermost is an object.
func document(depth int) *rapid.Generator[*value] {
	return rapid.Custom(func(t *rapid.T) *value { return drawn(t, '{', depth) })
}

func drawn(t *rapid.T, kind byte, depth int) *value {
	v := &value{kind: kind}
	switch kind {
	case '0':
		v.text = rapid.SampledFrom(words).Draw(t, "word")
	case '"':
		v.text = anyText().Draw(t, "string")
	default:
		for range rapid.IntRange(0, 4).Draw(t, "length") {
			kinds := `0"[{{`
			if depth == 1 {
				kinds = `0"`
			}
			name := anyText().Draw(t, "name")
			if slices.Contains(v.names, name) {
				continue
			}
			v.names = append(v.names, name)
			v.values = append(v.values, drawn(t, rapid.SampledFrom([]byte(kinds)).Draw(t, "kind"), depth-1))
		}
	}
	return v
}

// spelled is v in one of its spellings: way(n) chooses one of n.
func (v *value) spelled(way func(n int) int) string {
	blank := func() string { return blanks[way(len(blanks))] }
	switch v.kind {
	case '0':
		return v.text
	case '"':
		return spelledText(v.text, way)
	}
	order := make([]int, len(v.values))
	for i := range order {
		order[i] = i
	}
	if v.kind == '{' {
		for i := range order {
			j := i + way(len(order)-i)
			order[i], order[j] = order[j], order[i]
		}
	}
	var parts []string
	for _, i := range order {
		part := blank() + v.values[i].spelled(way) + blank()
		if v.kind == '{' {
			part = blank() + spelledText(v.names[i], way) + blank() + ":" + part
		}
		parts = append(parts, part)
	}
	closing := map[byte]string{'{': "}", '[': "]"}[v.kind]
	if len(parts) == 0 {
		return string(v.kind) + blank() + closing
	}
	return string(v.kind) + strings.Join(parts, ",") + closing
}

func spelledText(text string, way func(n int) int) string {
	short := map[rune]string{'"': `\"`, '\\': `\\`, '/': `\/`, '\b': `\b`, '\f': `\f`, '\n': `\n`, '\r': `\r`, '\t': `\t`}
	var b strings.Builder
	for _, r := range text {
		escape := []string{`\u%04x`, `\u%04X`}[way(2)]
		switch way := way(3); {
		case way == 0 && r >= ' ' && r != '"' && r != '\\':
			b.WriteRune(r)
		case way <= 1 && short[r] != "":
			b.WriteString(short[r])
		default:
			for _, unit := range utf16.Encode([]rune{r}) {
				fmt.Fprintf(&b, escape, unit)
			}
		}
	}
	return `"` + b.String() + `"`
}

// plainly spells in the first way that there is.
func plainly(int) int { return 0 }

// anyhow spells in a way that t draws.
func anyhow(t *rapid.T) func(n int) int {
	return func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "way") }
}

// clone is v once more, to be changed.
func (v *value) clone() *value {
	c := *v
	c.names, c.values = slices.Clone(v.names), nil
	for _, inner := range v.values {
		c.values = append(c.values, inner.clone())
	}
	return &c
}

// all is v and everything in it.
func (v *value) all() []*value {
	found := []*value{v}
	for _, inner := range v.values {
		found = append(found, inner.all()...)
	}
	return found
}

// change makes v another value, in one place.
func (v *value) change(t *rapid.T) {
	other := func(texts *rapid.Generator[string], not ...string) string {
		return texts.Filter(func(s string) bool { return !slices.Contains(not, s) }).Draw(t, "other")
	}
	switch v.kind {
	case '0':
		v.text = other(rapid.SampledFrom(words), v.text)
		return
	case '"':
		v.text = other(anyText(), v.text)
		return
	}
	if len(v.values) > 0 {
		i := rapid.IntRange(0, len(v.values)-1).Draw(t, "which")
		switch rapid.SampledFrom([]string{"drop", "rename", "add"}).Draw(t, "change") {
		case "drop":
			v.names, v.values = slices.Delete(v.names, i, i+1), slices.Delete(v.values, i, i+1)
			return
		case "rename":
			if v.kind == '{' {
				v.names[i] = other(anyText(), v.names...)
				return
			}
		}
	}
	v.names = append(v.names, other(anyText(), v.names...))
	v.values = append(v.values, &value{kind: '0', text: "null"})
}

// at is the place of a path's last name: the object that holds it and its index; -1 where there is none.
func (v *value) at(path []string) (*value, int) {
	for ; v.kind == '{'; path = path[1:] {
		i := slices.Index(v.names, path[0])
		if i < 0 || len(path) == 1 {
			return v, i
		}
		v = v.values[i]
	}
	return v, -1
}

// paths are the names of all members that are in objects only, as Omit and Only take them.
func (v *value) paths() (found []string) {
	if v.kind != '{' {
		return nil
	}
	for i, name := range v.names {
		found = append(found, name)
		for _, inner := range v.values[i].paths() {
			found = append(found, name+"."+inner)
		}
	}
	return found
}
