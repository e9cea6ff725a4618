package canonical

// number copies a number as it is written. Its characters are its identity: read as a float64, 2^53 and 2^53+1 would be one
// amount.
func (s *scanner) number() bool {
	start := s.pos
	s.skip('-')
	if !s.skip('0') && !s.digits() {
		return false
	}
	if s.skip('.') && !s.digits() {
		return false
	}
	if s.skip('e') || s.skip('E') {
		_ = s.skip('+') || s.skip('-')
		if !s.digits() {
			return false
		}
	}
	s.out = append(s.out, s.doc[start:s.pos]...)
	return true
}

// skip passes over the next byte if it is c.
func (s *scanner) skip(c byte) bool {
	if s.pos == len(s.doc) || s.doc[s.pos] != c {
		return false
	}
	s.pos++
	return true
}

// digits passes over one digit or more.
func (s *scanner) digits() bool {
	start := s.pos
	for s.pos < len(s.doc) && isDigit(s.doc[s.pos]) {
		s.pos++
	}
	return s.pos > start
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
