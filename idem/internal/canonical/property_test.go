package canonical_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"pgregory.net/rapid"

	"github.com/pgidem/pgidem/idem/internal/canonical"
)

// node is a JSON value apart from its spelling.
type node struct {
	kind  byte   // '{', '[', '"' or '0' (a number or a word)
	text  string // of a string, unescaped; of a number or word, as written
	name  string // in the object that holds it
	nodes []*node
}

var (
	chars  = []rune("aAbB019 /\"\\\b\f\n\r\t\x00\x1f\x7féé\u0301<&\u2028\ufffd\ue000\uff00😀")
	atoms  = []string{"null", "true", "false", "0", "-0", "1", "1.0", "1e0", "1E+0", "1e400", "9007199254740992", "9007199254740993"}
	blanks = []string{"", "", "", " ", "\t", "\r\n", " \n "}
)

func drawText(t *rapid.T) string {
	return string(rapid.SliceOfN(rapid.SampledFrom(chars), 0, 4).Draw(t, "text"))
}

func drawNode(t *rapid.T, depth int) *node {
	kinds := "00\"\"[[{{{"
	if depth == 0 {
		kinds = "0\""
	}
	n := &node{kind: rapid.SampledFrom([]byte(kinds)).Draw(t, "kind")}
	switch n.kind {
	case '0':
		n.text = rapid.SampledFrom(atoms).Draw(t, "atom")
	case '"':
		n.text = drawText(t)
	default:
		for range rapid.IntRange(0, 4).Draw(t, "length") {
			child := drawNode(t, depth-1)
			child.name = drawText(t)
			if n.kind == '{' && n.has(child.name) {
				continue
			}
			n.nodes = append(n.nodes, child)
		}
	}
	return n
}

func (n *node) has(name string) bool {
	return slices.ContainsFunc(n.nodes, func(c *node) bool { return c.name == name })
}

// spell writes n in a spelling of t's choice.
func (n *node) spell(t *rapid.T, b *bytes.Buffer) {
	blank := func() { b.WriteString(rapid.SampledFrom(blanks).Draw(t, "blank")) }
	blank()
	switch n.kind {
	case '0':
		b.WriteString(n.text)
	case '"':
		spellText(t, b, n.text)
	case '[':
		b.WriteByte('[')
		for i, c := range n.nodes {
			if i > 0 {
				b.WriteByte(',')
			}
			c.spell(t, b)
		}
		blank()
		b.WriteByte(']')
	case '{':
		b.WriteByte('{')
		for i, c := range rapid.Permutation(n.nodes).Draw(t, "order") {
			if i > 0 {
				b.WriteByte(',')
			}
			blank()
			spellText(t, b, c.name)
			blank()
			b.WriteByte(':')
			c.spell(t, b)
		}
		blank()
		b.WriteByte('}')
	}
	blank()
}

func spellText(t *rapid.T, b *bytes.Buffer, text string) {
	short := map[rune]string{'"': `\"`, '\\': `\\`, '/': `\/`, '\b': `\b`, '\f': `\f`, '\n': `\n`, '\r': `\r`, '\t': `\t`}
	b.WriteByte('"')
	for _, r := range text {
		how := rapid.SampledFrom([]string{"plain", "short", "\\u%04x", "\\u%04X"}).Draw(t, "how")
		if how == "plain" && r >= ' ' && r != '"' && r != '\\' {
			b.WriteRune(r)
		} else if s, ok := short[r]; ok && how == "short" {
			b.WriteString(s)
		} else {
			if how[0] != '\\' {
				how = "\\u%04x"
			}
			for _, unit := range utf16.Encode([]rune{r}) {
				fmt.Fprintf(b, how, unit)
			}
		}
	}
	b.WriteByte('"')
}

func canonicalText(t *rapid.T, n *node) string {
	var doc bytes.Buffer
	n.spell(t, &doc)
	got, ok := canonical.JSON(doc.Bytes())
	if !ok {
		t.Fatalf("JSON(%q) refuses", doc.Bytes())
	}
	return string(got)
}

func TestSpellingNeverChangesTheText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := drawNode(t, 4)
		if a, b := canonicalText(t, n), canonicalText(t, n); a != b {
			t.Fatalf("two spellings of one value: %q and %q", a, b)
		}
	})
}

// all returns n and everything in it.
func (n *node) all() []*node {
	nodes := []*node{n}
	for _, c := range n.nodes {
		nodes = append(nodes, c.all()...)
	}
	return nodes
}

// change makes n another value.
func (n *node) change(t *rapid.T) {
	switch n.kind {
	case '0':
		n.text = rapid.SampledFrom(atoms).Filter(func(s string) bool { return s != n.text }).Draw(t, "other atom")
		return
	case '"':
		n.text = rapid.Custom(drawText).Filter(func(s string) bool { return s != n.text }).Draw(t, "other text")
		return
	}
	how := rapid.SampledFrom([]string{"add", "drop", "rename", "become"}).Draw(t, "change")
	i := rapid.IntRange(0, max(0, len(n.nodes)-1)).Draw(t, "which")
	switch {
	case how == "drop" && len(n.nodes) > 0:
		n.nodes = slices.Delete(n.nodes, i, i+1)
	case how == "rename" && n.kind == '{' && len(n.nodes) > 0:
		n.nodes[i].name = rapid.Custom(drawText).Filter(func(s string) bool { return !n.has(s) }).Draw(t, "other name")
	case how == "become":
		n.kind ^= '{' ^ '['
		for i, c := range n.nodes {
			c.name = strings.Repeat("x", i)
		}
	default:
		name := rapid.Custom(drawText).Filter(func(s string) bool { return !n.has(s) }).Draw(t, "new name")
		n.nodes = append(n.nodes, &node{kind: '0', text: "null", name: name})
	}
}

func TestAnyChangeOfValueChangesTheText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := drawNode(t, 4)
		before := canonicalText(t, n)
		rapid.SampledFrom(n.all()).Draw(t, "place").change(t)
		if after := canonicalText(t, n); before == after {
			t.Fatalf("two values, one text: %q", after)
		}
	})
}

func TestAnySecondNameIsRefused(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := drawNode(t, 4)
		objects := slices.DeleteFunc(n.all(), func(n *node) bool { return n.kind != '{' || len(n.nodes) == 0 })
		if len(objects) == 0 {
			t.Skip("no member")
		}
		o := rapid.SampledFrom(objects).Draw(t, "object")
		twin := drawNode(t, 1)
		twin.name = rapid.SampledFrom(o.nodes).Draw(t, "member").name
		o.nodes = append(o.nodes, twin)
		var doc bytes.Buffer
		n.spell(t, &doc)
		if got, ok := canonical.JSON(doc.Bytes()); ok {
			t.Fatalf("JSON(%q) = %q", doc.Bytes(), got)
		}
	})
}
