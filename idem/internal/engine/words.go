package engine

import "strings"

// endsTransaction reports whether a statement in sql, which may hold several, begins with a word that would end the
// transaction around it. ROLLBACK TO SAVEPOINT does not, nor does the END of a routine's body: the first END there that a
// statement begins with, which the END of a CASE never is. The other words are refused in a body too; no routine can be made of
// them.
//
// It reads text as the server does with standard_conforming_strings on: quotes, dollar quotes and nested comments hide
// what is in them. What the server cannot parse does nothing at all, whichever of several statements is at fault. This is the
// first net: what slips past it (a CALL, a driver's own words) is found by the connection's transaction status.
func endsTransaction(sql string) bool {
	s, body := scan{sql}, false
	for s.rest != "" {
		switch first := s.word(); first {
		case "END":
			if !body {
				return true
			}
			body = false
		case "COMMIT", "ABORT":
			return true
		case "ROLLBACK":
			if next := s.word(); next == "TO" || (next == "WORK" || next == "TRANSACTION") && s.word() == "TO" {
				break
			}
			return true
		case "PREPARE":
			if s.word() == "TRANSACTION" {
				return true
			}
		case "CREATE":
			if !body && s.isRoutine() {
				body = s.skipHead()
				continue
			}
		}
		s.skipStatement()
	}
	return false
}

// isOneStatement reports whether sql holds one statement, not none and not several. A routine with a body of statements counts as
// several.
func isOneStatement(sql string) bool {
	s, statements := scan{sql}, 0
	for s.skipBlank(); s.rest != ""; s.skipBlank() {
		if s.rest[0] != ';' {
			statements++
		}
		s.skipStatement()
	}
	return statements == 1
}

// scan walks over SQL text; rest is what has not been read.
type scan struct{ rest string }

// word reads the next token if it is a bare word, in upper case; "" if it is anything else.
func (s *scan) word() string {
	s.skipBlank()
	n := 0
	for n < len(s.rest) && isWordByte(s.rest[n]) {
		n++
	}
	word := s.rest[:n]
	if n < len(s.rest) && s.rest[n] == '\'' {
		return "" // E'…', N'…', X'…': a literal, left for skipStatement
	}
	s.rest = s.rest[n:]
	return strings.ToUpper(word)
}

// skipBlank passes white space and comments.
func (s *scan) skipBlank() {
	for s.rest != "" {
		switch {
		case strings.IndexByte(" \t\n\r\f\v", s.rest[0]) >= 0:
			s.rest = s.rest[1:]
		case strings.HasPrefix(s.rest, "--"):
			s.skipLine()
		case strings.HasPrefix(s.rest, "/*"):
			s.skipComment()
		default:
			return
		}
	}
}

// skipLine passes the rest of the line; either of the bytes that end one does.
func (s *scan) skipLine() {
	if i := strings.IndexAny(s.rest, "\n\r"); i >= 0 {
		s.rest = s.rest[i+1:]
		return
	}
	s.rest = ""
}

// skipComment passes one comment; they nest.
func (s *scan) skipComment() {
	depth := 0
	for s.rest != "" {
		switch {
		case strings.HasPrefix(s.rest, "/*"):
			depth++
			s.rest = s.rest[2:]
		case strings.HasPrefix(s.rest, "*/"):
			depth--
			s.rest = s.rest[2:]
			if depth == 0 {
				return
			}
		default:
			s.rest = s.rest[1:]
		}
	}
}

// skipStatement passes everything up to and with the semicolon that ends the statement.
func (s *scan) skipStatement() {
	for s.skipBlank(); s.rest != ""; s.skipBlank() {
		if s.token() == ";" {
			return
		}
	}
}

// token passes the next token, of which there must be one, and returns it as it is written: a word, or one byte of anything else.
// What is quoted is "".
func (s *scan) token() string {
	n := 1
	switch c := s.rest[0]; {
	case c == '"':
		s.rest = s.rest[1:]
		s.after(`"`)
		return ""
	case c == '\'':
		s.rest = s.rest[1:]
		s.after("'")
		return ""
	case (c == 'E' || c == 'e') && strings.HasPrefix(s.rest[1:], "'"):
		s.rest = s.rest[2:]
		s.skipEscaped()
		return ""
	case c == '$':
		s.skipDollar()
		return ""
	case isWordByte(c):
		for n < len(s.rest) && (isWordByte(s.rest[n]) || s.rest[n] == '$') {
			n++
		}
	}
	token := s.rest[:n]
	s.rest = s.rest[n:]
	return token
}

// skipEscaped passes the rest of a literal in which a backslash hides the next byte, and its continuations.
func (s *scan) skipEscaped() {
	for s.rest != "" {
		switch c := s.rest[0]; {
		case c == '\\':
			s.rest = s.rest[min(2, len(s.rest)):]
		case strings.HasPrefix(s.rest, "''"):
			s.rest = s.rest[2:]
		case c == '\'':
			s.rest = s.rest[1:]
			if !s.continues() {
				return
			}
		default:
			s.rest = s.rest[1:]
		}
	}
}

// continues passes the gap to a continuation of the literal just read, if there is one: white space and line comments with a line
// end in them, then another quote. The continuation is read by the rules of the first part.
func (s *scan) continues() bool {
	gap, lines := scan{s.rest}, false
	for gap.rest != "" {
		switch {
		case strings.IndexByte("\n\r", gap.rest[0]) >= 0:
			lines = true
			gap.rest = gap.rest[1:]
		case strings.IndexByte(" \t\f\v", gap.rest[0]) >= 0:
			gap.rest = gap.rest[1:]
		case strings.HasPrefix(gap.rest, "--"):
			lines = lines || strings.ContainsAny(gap.rest, "\n\r")
			gap.skipLine()
		case gap.rest[0] == '\'' && lines:
			s.rest = gap.rest[1:]
			return true
		default:
			return false
		}
	}
	return false
}

// skipDollar passes a dollar-quoted text, or the dollar of a parameter.
func (s *scan) skipDollar() {
	n := 1
	for n < len(s.rest) && isWordByte(s.rest[n]) {
		n++
	}
	if n == len(s.rest) || s.rest[n] != '$' || n > 1 && s.rest[1] >= '0' && s.rest[1] <= '9' {
		s.rest = s.rest[n:]
		return
	}
	tag := s.rest[:n+1]
	s.rest = s.rest[n+1:]
	s.after(tag)
}

// after passes everything up to and with mark.
func (s *scan) after(mark string) {
	if i := strings.Index(s.rest, mark); i >= 0 {
		s.rest = s.rest[i+len(mark):]
		return
	}
	s.rest = ""
}

func isWordByte(c byte) bool {
	return c == '_' || c >= 0x80 || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
