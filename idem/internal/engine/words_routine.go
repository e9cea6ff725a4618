package engine

import "strings"

// isRoutine reads on after CREATE and reports whether a function or procedure is what is created.
func (s *scan) isRoutine() bool {
	next := s.word()
	if next == "OR" && s.word() == "REPLACE" {
		next = s.word()
	}
	return next == "FUNCTION" || next == "PROCEDURE"
}

// skipHead passes the head of a routine's definition and reports whether a body is open: BEGIN ATOMIC, then statements that end
// with a semicolon each, then END. Where there is none the whole statement is passed.
//
// No valid head has the two words beside each other but where they open a body, except in parentheses: a parameter or a column
// may be named the one and be of a type named the other.
func (s *scan) skipHead() (body bool) {
	depth, last := 0, ""
	for s.skipBlank(); s.rest != ""; s.skipBlank() {
		token := s.token()
		switch {
		case token == ";":
			return false
		case token == "(":
			depth++
		case token == ")":
			depth--
		case depth == 0 && strings.EqualFold(last, "BEGIN") && strings.EqualFold(token, "ATOMIC"):
			return true
		}
		last = token
	}
	return false
}
