package pgstub

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgproto3"
)

// session is one connection. It reads by hand, into buffers that it keeps, and parses no more than it has to: what it allocated
// would be counted as the middleware's. It trusts its client.
type session struct {
	stub *Stub
	conn net.Conn
	in   *bufio.Reader
	head [5]byte
	body []byte // of the message that was read last
	out  []byte // what is sent at the next Sync

	prepared map[string]*statement
	bound    *statement
	params   [][]byte
	claim    claim
	row      pgproto3.DataRow
	status   byte // of the transaction
	failed   bool // what comes is skipped up to the next Sync
}

func newSession(stub *Stub, conn net.Conn) *session {
	return &session{stub: stub, conn: conn, in: bufio.NewReader(conn), prepared: make(map[string]*statement), status: 'I'}
}

// serve answers until the connection ends.
func (s *session) serve() {
	if !s.start() {
		return
	}
	for {
		if _, err := io.ReadFull(s.in, s.head[:]); err != nil || s.head[0] == 'X' {
			return
		}
		if s.read(s.head[1:]) != nil || s.answer(s.head[0]) != nil {
			return
		}
	}
}

// start logs the client in, whoever it is.
func (s *session) start() bool {
	if _, err := io.ReadFull(s.in, s.head[:4]); err != nil || s.read(s.head[:4]) != nil {
		return false
	}
	if version, _ := number(s.body); version != 3 { // a request to cancel or to encrypt
		return false
	}
	s.say(&pgproto3.AuthenticationOk{})
	for name, value := range map[string]string{
		"server_version": "18.0", "client_encoding": "UTF8", "standard_conforming_strings": "on", "integer_datetimes": "on", "TimeZone": "UTC",
	} {
		s.say(&pgproto3.ParameterStatus{Name: name, Value: value})
	}
	s.say(&pgproto3.BackendKeyData{ProcessID: 1, SecretKey: make([]byte, 4)})
	return s.ready() == nil
}

// read reads the body of a message by the length before it.
func (s *session) read(length []byte) error {
	n := int(binary.BigEndian.Uint32(length)) - 4
	if cap(s.body) < n {
		s.body = make([]byte, n)
	}
	s.body = s.body[:n]
	_, err := io.ReadFull(s.in, s.body)
	return err
}

// say appends a message to what is sent at the next Sync.
func (s *session) say(m pgproto3.BackendMessage) { s.out, _ = m.Encode(s.out) }

// The messages that are sent by the hundred thousand.
var (
	parseComplete, _ = (&pgproto3.ParseComplete{}).Encode(nil)
	bindComplete, _  = (&pgproto3.BindComplete{}).Encode(nil)
)

func (s *session) ready() error {
	s.failed = false
	s.out = append(s.out, 'Z', 0, 0, 0, 5, s.status)
	_, err := s.conn.Write(s.out)
	s.out = s.out[:0]
	return err
}

func (s *session) fail(format string, args ...any) {
	if s.failed = true; s.status == 'T' {
		s.status = 'E'
	}
	s.say(&pgproto3.ErrorResponse{Severity: "ERROR", SeverityUnlocalized: "ERROR", Code: "0A000", Message: "pgstub: " + fmt.Sprintf(format, args...)})
}

// answer answers the message of a kind that was read.
func (s *session) answer(kind byte) error {
	if s.failed && kind != 'S' {
		return nil
	}
	switch kind {
	case 'P':
		name, rest := cut(s.body)
		sql, _ := cut(rest)
		if s.prepared[string(name)] = find(string(sql)); s.prepared[string(name)] == nil {
			s.fail("unknown statement: %s", sql)
			return nil
		}
		s.out = append(s.out, parseComplete...)
	case 'D':
		if s.body[0] == 'P' {
			s.out = s.bound.describeRows(s.out, field.format)
			return nil
		}
		name, _ := cut(s.body[1:])
		s.out = s.prepared[string(name)].describe(s.out)
	case 'B':
		s.bind()
	case 'E':
		s.execute(s.bound)
	case 'Q':
		s.simple()
		return s.ready()
	case 'S':
		return s.ready()
	default:
		s.fail("unknown message %q", kind)
	}
	return nil
}

// bind takes a statement's parameters, and those of a claim into the session.
func (s *session) bind() {
	_, rest := cut(s.body) // the portal, always the unnamed one
	name, rest := cut(rest)
	if s.bound = s.prepared[string(name)]; s.bound == nil {
		s.fail("statement %q was not prepared", name)
		return
	}
	formats, rest := number(rest)
	rest = rest[2*formats:]
	params, rest := number(rest)
	s.params = s.params[:0]
	for range params {
		n := int(int32(binary.BigEndian.Uint32(rest)))
		rest = rest[4:]
		n = max(n, 0) // NULL
		s.params, rest = append(s.params, rest[:n]), rest[n:]
	}
	asked, rest := number(rest)
	for i, f := range s.bound.fields {
		if asked != len(s.bound.fields) || int16(binary.BigEndian.Uint16(rest[2*i:])) != f.format() {
			s.fail("the row is asked for in other formats than pgx's own")
			return
		}
	}
	if s.bound == statements["KeyClaim"] {
		keep := func(kept *[]byte, param int) { *kept = append((*kept)[:0], s.params[param]...) }
		keep(&s.claim.id, 2)
		keep(&s.claim.leased, 3)
		keep(&s.claim.fingerprint, 7)
	}
	s.out = append(s.out, bindComplete...)
}

func (s *session) execute(bound *statement) {
	tag := bound.tag
	if bound.row != nil {
		if values := bound.row(s); values != nil {
			s.row.Values = values
			s.say(&s.row)
		} else {
			tag = "INSERT 0 0"
		}
	}
	if bound.status != 0 {
		s.status = bound.status
	}
	s.out = append(s.out, 'C')
	s.out = binary.BigEndian.AppendUint32(s.out, uint32(len(tag)+5))
	s.out = append(append(s.out, tag...), 0)
}

// simple answers a statement sent as text: transaction control, and the comment that is a ping.
func (s *session) simple() {
	text, _ := cut(s.body)
	switch known := find(string(text)); {
	case known != nil && known.fields == nil:
		s.execute(known)
	case strings.HasPrefix(string(text), "--"):
		s.say(&pgproto3.EmptyQueryResponse{})
	default:
		s.fail("unknown statement: %s", text)
	}
}

// values are a row's, in a slice that is used again.
func (s *session) values(values ...[]byte) [][]byte { return append(s.row.Values[:0], values...) }

// cut returns the text up to a zero, and the rest.
func cut(b []byte) (text, rest []byte) {
	text, rest, _ = bytes.Cut(b, []byte{0})
	return text, rest
}

// number returns a 16-bit number and the rest.
func number(b []byte) (n int, rest []byte) { return int(binary.BigEndian.Uint16(b)), b[2:] }
