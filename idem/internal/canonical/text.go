package canonical

import (
	"encoding/binary"
	"encoding/hex"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// The characters with an escape of two bytes, and the second byte of that escape. The slash is last: it may be escaped but is
// spelled as itself.
const (
	shortChars   = "\"\\\b\f\n\r\t/"
	shortLetters = `"\bfnrt/`
)

// text copies a string or a name. Its UTF-8 was checked for the whole document.
func (s *scanner) text() bool {
	s.take('"')
	for s.pos < len(s.doc) {
		switch c := s.doc[s.pos]; {
		case c == '"':
			return s.take('"')
		case c == '\\':
			r, size, ok := unescape(s.doc[s.pos:])
			if !ok {
				return false
			}
			s.pos += size
			s.out = appendChar(s.out, r)
		case c < ' ':
			return false
		default:
			s.pos++
			s.out = append(s.out, c)
		}
	}
	return false
}

// unescape reads the escape that b begins with: its character and how many bytes it takes.
func unescape(b []byte) (r rune, size int, ok bool) {
	if r, ok = codeUnit(b); ok {
		if !utf16.IsSurrogate(r) {
			return r, 6, true
		}
		low, _ := codeUnit(b[6:])
		r = utf16.DecodeRune(r, low)
		return r, 12, r != utf8.RuneError // which no pair stands for: the other half is missing
	}
	if len(b) < 2 {
		return 0, 0, false
	}
	i := strings.IndexByte(shortLetters, b[1])
	if i < 0 {
		return 0, 0, false
	}
	return rune(shortChars[i]), 2, true
}

// codeUnit reads \uXXXX at the start of b.
func codeUnit(b []byte) (rune, bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	var unit [2]byte
	if _, err := hex.Decode(unit[:], b[2:6]); err != nil {
		return 0, false
	}
	return rune(binary.BigEndian.Uint16(unit[:])), true
}

// appendChar appends the one spelling of r, which is the shortest that JSON has.
func appendChar(out []byte, r rune) []byte {
	if i := strings.IndexRune(shortChars, r); i >= 0 && r != '/' {
		return append(out, '\\', shortLetters[i])
	}
	if r < ' ' {
		return append(out, '\\', 'u', '0', '0', '0'+byte(r>>4), "0123456789abcdef"[r&15])
	}
	return utf8.AppendRune(out, r)
}
