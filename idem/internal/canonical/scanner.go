package canonical

import "bytes"

// scanner reads doc once, from front to back, and appends each token in its canonical spelling to out, members still in the
// document's order. Every method that returns a bool returns false when the document has no canonical text; the scan is then
// over. Offsets named start and end are those of out; end is behind the last byte.
type scanner struct {
	doc []byte
	pos int // of the next byte of doc

	out       []byte
	open      []member // of the objects that are not closed yet, the innermost last
	unordered []object // closed objects whose members stand in out in another order than the canonical one
}

// end is what peek returns behind the last token: a byte that no UTF-8 text contains.
const end = 0xFF

// peek skips white space and returns the next byte, or end, without taking it.
func (s *scanner) peek() byte {
	for ; s.pos < len(s.doc); s.pos++ {
		switch c := s.doc[s.pos]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return end
}

// take copies the next byte if it is c.
func (s *scanner) take(c byte) bool {
	if s.peek() != c {
		return false
	}
	s.pos++
	s.out = append(s.out, c)
	return true
}

// value copies one value inside depth open arrays and objects.
func (s *scanner) value(depth int) bool {
	switch c := s.peek(); {
	case c == '{':
		return depth < maxDepth && s.object(depth+1)
	case c == '[':
		return depth < maxDepth && s.array(depth+1)
	case c == '"':
		return s.text()
	case c == '-', isDigit(c):
		return s.number()
	default:
		return s.word("true") || s.word("false") || s.word("null")
	}
}

func (s *scanner) array(depth int) bool {
	s.take('[')
	if s.take(']') {
		return true
	}
	for s.value(depth) {
		if s.take(']') {
			return true
		}
		if !s.take(',') {
			return false
		}
	}
	return false
}

func (s *scanner) object(depth int) bool {
	start, first := len(s.out), len(s.open)
	s.take('{')
	if s.take('}') {
		return true
	}
	for {
		m := member{start: len(s.out)}
		if s.peek() != '"' || !s.text() {
			return false
		}
		m.nameEnd = len(s.out)
		if !s.take(':') || !s.value(depth) {
			return false
		}
		m.end = len(s.out)
		s.open = append(s.open, m)
		if s.take('}') {
			return s.close(start, first)
		}
		if !s.take(',') {
			return false
		}
	}
}

func (s *scanner) word(w string) bool {
	if !bytes.HasPrefix(s.doc[s.pos:], []byte(w)) {
		return false
	}
	s.pos += len(w)
	s.out = append(s.out, w...)
	return true
}
