package sql_test

import (
	"strings"
	"unicode"
)

// statement is one statement of a file, in tokens: words in lower case, quoted names as they are without their quotes, every
// literal as the constant literal, every other character by itself. Comments are gone.
type statement struct {
	line   int
	tokens []string
}

// split reads SQL as far as these tests need: comments, literals, dollar quotes, quoted names.
func split(text string) []statement {
	var all []statement
	var now statement
	line := 1
	for text != "" {
		token, rest := next(text)
		switch {
		case token == "":
		case token == ";":
			all = append(all, now)
			now = statement{}
		default:
			if len(now.tokens) == 0 {
				now.line = line
			}
			now.tokens = append(now.tokens, token)
		}
		line += strings.Count(text[:len(text)-len(rest)], "\n")
		text = rest
	}
	if len(now.tokens) > 0 {
		all = append(all, now)
	}
	return all
}

const literal = "''"

// next cuts one token off; it is empty for white space and comments.
func next(text string) (token, rest string) {
	switch c := text[0]; {
	case unicode.IsSpace(rune(c)):
		return "", text[1:]
	case strings.HasPrefix(text, "--"):
		return "", after(text, "\n")
	case strings.HasPrefix(text, "/*"):
		return "", after(text, "*/")
	case c == '\'':
		return literal, after(text[1:], "'")
	case c == '"':
		name, rest, _ := strings.Cut(text[1:], `"`)
		return name, rest
	case c == '$':
		if tag := text[:strings.IndexByte(text[1:], '$')+2]; len(tag) > 1 && !strings.ContainsAny(tag, " \n;,)") {
			return literal, after(text[len(tag):], tag)
		}
	}
	n := strings.IndexFunc(text, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	if n == -1 {
		n = len(text)
	}
	n = max(n, 1)
	return strings.ToLower(text[:n]), text[n:]
}

func after(text, mark string) string {
	_, rest, _ := strings.Cut(text, mark)
	return rest
}

// has reports whether words stand in s, one after another.
func (s statement) has(words ...string) bool { return len(s.find(words...)) > 0 }

// find returns the places where words begin.
func (s statement) find(words ...string) []int {
	var at []int
next:
	for i := 0; i+len(words) <= len(s.tokens); i++ {
		for j, word := range words {
			if s.tokens[i+j] != word {
				continue next
			}
		}
		at = append(at, i)
	}
	return at
}

// token is the one at i, "" beyond the ends.
func (s statement) token(i int) string {
	if i < 0 || i >= len(s.tokens) {
		return ""
	}
	return s.tokens[i]
}

// closing is the place of the parenthesis that closes the one at i.
func (s statement) closing(i int) int {
	depth := 0
	for ; i < len(s.tokens); i++ {
		switch s.tokens[i] {
		case "(":
			depth++
		case ")":
			depth--
			if depth == 0 {
				return i
			}
		}
	}
	return i
}
