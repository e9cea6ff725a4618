package idemhttp

import (
	"encoding/base64"
	"encoding/hex"
	"strings"
	"unicode/utf8"
)

// parseStringItem reads a structured-field item (RFC 9651 section 4.2.3) whose bare item is a string, and returns the string.
// Parameters must be well formed; what they say is ignored.
func parseStringItem(field string) (text string, ok bool) {
	s := &structured{rest: field}
	text, ok = s.string()
	return text, ok && s.parameters() && strings.Trim(s.rest, " ") == ""
}

// structured reads one structured field from the left. Each method takes what it names off rest, or reports that it is not there.
type structured struct{ rest string }

func (s *structured) peek() byte {
	if s.rest == "" {
		return 0
	}
	return s.rest[0]
}

func (s *structured) take(prefix string) bool {
	rest, ok := strings.CutPrefix(s.rest, prefix)
	s.rest = rest
	return ok
}

// while takes the longest head whose bytes all fit.
func (s *structured) while(fits func(byte) bool) (head string) {
	n := 0
	for n < len(s.rest) && fits(s.rest[n]) {
		n++
	}
	head, s.rest = s.rest[:n], s.rest[n:]
	return head
}

func (s *structured) string() (string, bool) {
	if !s.take(`"`) {
		return "", false
	}
	var text strings.Builder
	for s.rest != "" {
		c := s.rest[0]
		s.rest = s.rest[1:]
		switch {
		case c == '"':
			return text.String(), true
		case c == '\\':
			if c = s.peek(); c != '"' && c != '\\' {
				return "", false
			}
			s.rest = s.rest[1:]
		case c < ' ' || c >= 0x7f:
			return "", false
		}
		text.WriteByte(c)
	}
	return "", false
}

func (s *structured) parameters() bool {
	for s.take(";") {
		s.rest = strings.TrimLeft(s.rest, " ")
		if c := s.peek(); !isLower(c) && c != '*' {
			return false
		}
		s.while(func(c byte) bool { return isLower(c) || isDigit(c) || strings.IndexByte("_-.*", c) >= 0 })
		if s.take("=") && !s.bareItem() {
			return false
		}
	}
	return true
}

// bareItem takes a value of any type (RFC 9651 section 4.2.3.1).
func (s *structured) bareItem() bool {
	switch c := s.peek(); {
	case c == '"':
		_, ok := s.string()
		return ok
	case c == '-' || isDigit(c):
		_, ok := s.number()
		return ok
	case c == '*' || isLetter(c):
		s.while(isTokenByte)
		return true
	case c == ':':
		return s.bytes()
	case c == '?':
		return s.take("?0") || s.take("?1")
	case c == '@':
		s.take("@")
		decimal, ok := s.number()
		return ok && !decimal
	case c == '%':
		return s.displayString()
	}
	return false
}

// number takes an integer of up to 15 digits, or a decimal of up to 12 digits, a point and one to three more.
func (s *structured) number() (decimal, ok bool) {
	s.take("-")
	whole := s.while(isDigit)
	if !s.take(".") {
		return false, 1 <= len(whole) && len(whole) <= 15
	}
	fraction := s.while(isDigit)
	return true, 1 <= len(whole) && len(whole) <= 12 && 1 <= len(fraction) && len(fraction) <= 3
}

func (s *structured) bytes() bool {
	s.take(":")
	text := s.while(func(c byte) bool { return isLetter(c) || isDigit(c) || strings.IndexByte("+/=", c) >= 0 })
	_, err := base64.StdEncoding.DecodeString(text)
	return err == nil && s.take(":")
}

func (s *structured) displayString() bool {
	if !s.take(`%"`) {
		return false
	}
	escaped := s.while(func(c byte) bool { return ' ' <= c && c < 0x7f && c != '"' })
	var text []byte
	for escaped != "" {
		if escaped[0] != '%' {
			text, escaped = append(text, escaped[0]), escaped[1:]
			continue
		}
		if len(escaped) < 3 || strings.ToLower(escaped[1:3]) != escaped[1:3] {
			return false
		}
		octet, err := hex.DecodeString(escaped[1:3])
		if err != nil {
			return false
		}
		text, escaped = append(text, octet...), escaped[3:]
	}
	return utf8.Valid(text) && s.take(`"`)
}

func isTokenByte(c byte) bool {
	return isLetter(c) || isDigit(c) || strings.IndexByte("!#$%&'*+-.^_`|~:/", c) >= 0
}

func isLower(c byte) bool  { return 'a' <= c && c <= 'z' }
func isLetter(c byte) bool { return isLower(c | 0x20) }
func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
