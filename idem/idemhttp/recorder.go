package idemhttp

import (
	"bufio"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/pgidem/pgidem/idem"
)

// recorder is the ResponseWriter of a handler under a key. It keeps the answer back until its record is committed, then send
// passes it on unaltered.
//
// In lease mode the first Flush, and the byte over the cap, complete the key without the body and let the answer stream from
// there on. In atomic mode Flush does nothing. Hijack is refused in both. Interim answers (1xx) pass at once. Everything else
// that a ResponseController can ask for goes through Unwrap.
type recorder struct {
	m      *Middleware
	under  http.ResponseWriter
	before http.Header // what stood in under's header

	header   http.Header // the handler's
	sent     http.Header // header as it was at WriteHeader
	status   int         // 0: not yet written
	declared int64       // Content-Length as the handler set it; -1: not
	written  int64
	over     bool // a write went beyond declared
	body     chunks

	keeps int                   // bytes of a body that are kept
	limit int                   // bytes over which a write is refused; 0: the answer is streamed from there
	start func(*recorder) error // makes streaming safe; nil: there is no streaming
	live  bool                  // streaming
	err   error                 // streaming was tried and may not begin

	mu    sync.Mutex // between the handler and what it left running
	ended bool       // the handler has returned
}

func newRecorder(m *Middleware, w http.ResponseWriter, keeps int) *recorder {
	before := w.Header().Clone()
	header := before.Clone()
	if header == nil {
		header = make(http.Header)
	}
	return &recorder{m: m, under: w, before: before, header: header, declared: -1, keeps: keeps}
}

func (r *recorder) Header() http.Header         { return r.header }
func (r *recorder) Unwrap() http.ResponseWriter { return r.under }

// WriteHeader notes the status. As with net/http the first one counts, and one that is none panics.
func (r *recorder) WriteHeader(status int) {
	switch {
	case r.status != 0:
	case status < 100 || status > 999:
		panic(fmt.Sprintf("idemhttp: invalid WriteHeader code %d", status))
	case status < 200 && status != http.StatusSwitchingProtocols:
		r.pass(status)
	default:
		r.status, r.sent = status, r.header.Clone()
		if n, err := strconv.ParseInt(r.sent.Get("Content-Length"), 10, 64); err == nil && n >= 0 {
			r.declared = n
			r.body.expect(min(int(n), r.keeps))
		}
	}
}

// pass sends an interim answer, which is nobody's record.
func (r *recorder) pass(status int) {
	replaceHeader(r.under.Header(), r.header)
	r.under.WriteHeader(status)
	replaceHeader(r.under.Header(), r.before)
}

func (r *recorder) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.admit(len(b)); err != nil {
		return 0, err
	}
	if r.live {
		return r.under.Write(b)
	}
	r.body.append(b)
	return len(b), nil
}

// WriteString is Write without a copy.
func (r *recorder) WriteString(s string) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.admit(len(s)); err != nil {
		return 0, err
	}
	if r.live {
		return r.under.Write([]byte(s))
	}
	r.body.appendString(s)
	return len(s), nil
}

// errEnded is what a goroutine gets that the handler left running: what it writes is in no record, and its buffer is another's.
var errEnded = errors.New("idemhttp: a write after the handler has returned")

// admit decides on n more bytes.
func (r *recorder) admit(n int) error {
	if r.status == 0 {
		r.WriteHeader(http.StatusOK)
	}
	switch {
	case r.ended:
		return errEnded
	case r.err != nil:
		return r.err
	case n == 0:
		return nil
	case r.status < 200 || r.status == http.StatusNoContent || r.status == http.StatusNotModified:
		return http.ErrBodyNotAllowed
	case r.declared >= 0 && (r.over || r.written+int64(n) > r.declared):
		r.over = true // as with net/http, nothing fits any more
		return http.ErrContentLength
	case r.limit > 0 && r.written+int64(n) > int64(r.limit):
		r.err = fmt.Errorf("idemhttp: an answer of over %d bytes in atomic mode, where it is held in memory until the commit", r.limit)
		return r.err
	}
	if r.start != nil && !r.live && r.written+int64(n) > int64(r.keeps) {
		if err := r.stream(); err != nil {
			return err
		}
	}
	r.written += int64(n)
	return nil
}

// Flush is FlushError for those who do not look.
func (r *recorder) Flush() { _ = r.FlushError() }

// FlushError sends what there is, once the key is completed. It does nothing in atomic mode, nor for an answer that is not to be
// recorded: that one is sent whole when the handler has returned.
func (r *recorder) FlushError() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.status == 0 {
		r.WriteHeader(http.StatusOK)
	}
	switch {
	case r.ended:
		return errEnded
	case r.err != nil:
		return r.err
	case r.start == nil || !r.live && r.m.outcome(r.status) != Keep:
		return nil
	case !r.live:
		if err := r.stream(); err != nil {
			return err
		}
	}
	return http.NewResponseController(r.under).Flush()
}

// stream settles the key and sends what was kept back. From here on writes go straight through.
func (r *recorder) stream() error {
	if r.err = r.start(r); r.err != nil {
		return r.err
	}
	r.live = true
	replaceHeader(r.under.Header(), r.sent)
	r.under.WriteHeader(r.status)
	for _, chunk := range r.body.list {
		if _, err := r.under.Write(chunk); err != nil {
			return err
		}
	}
	r.body.free()
	return nil
}

// Hijack is refused: what goes over a hijacked connection is no answer that could be recorded.
func (r *recorder) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return nil, nil, fmt.Errorf("idemhttp: a request with an idempotency key cannot be hijacked: %w", http.ErrNotSupported)
}

// finish ends the recording: a handler that wrote nothing answered 200.
func (r *recorder) finish() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.status == 0 {
		r.WriteHeader(http.StatusOK)
	}
	r.ended = true
}

// short reports that the handler wrote less than it declared: net/http cuts the connection for it, and no replay may pass the
// piece off as the whole.
func (r *recorder) short() bool { return r.declared >= 0 && r.written < r.declared && r.hasBody() }

func (r *recorder) hasBody() bool {
	return r.status >= 200 && r.status != http.StatusNoContent && r.status != http.StatusNotModified
}

// answer is what is recorded.
func (r *recorder) answer() *idem.Response {
	resp := &idem.Response{
		Status:      r.status,
		Failed:      r.status >= 400,
		BodyDropped: r.live || r.short() || r.written > int64(r.keeps),
	}
	if !resp.BodyDropped {
		resp.Body = r.body.bytes()
	}
	kept := stored(r.sent, r.before, r.m.keepHeader)
	head := r.body.head()
	if _, typed := r.sent["Content-Type"]; !typed && len(head) > 0 && r.sent.Get("Content-Encoding")+r.sent.Get("Transfer-Encoding") == "" {
		kept.Add("Content-Type", http.DetectContentType(head)) // as net/http does for the first caller
	}
	resp.Header = kept
	return resp
}

// send passes the answer on to its own caller, as the handler gave it: what has not been streamed, and the trailers. It comes last:
// the body's memory is used for other answers from then on.
func (r *recorder) send() {
	if !r.live {
		replaceHeader(r.under.Header(), r.sent)
		r.under.WriteHeader(r.status)
		for _, chunk := range r.body.list {
			_, _ = r.under.Write(chunk) // a client that has hung up comes back for it
		}
	}
	// Trailers: what was declared in Trailer, and what carries the prefix.
	declared := strings.Split(strings.Join(r.sent.Values("Trailer"), ","), ",")
	for name, values := range r.header {
		if strings.HasPrefix(name, http.TrailerPrefix) || slices.ContainsFunc(declared, func(d string) bool {
			return http.CanonicalHeaderKey(strings.TrimSpace(d)) == name
		}) {
			r.under.Header()[name] = values
		}
	}
	r.body.free()
}

// replaceHeader makes h what from is. Others hold h too, so it stays the same map.
func replaceHeader(h, from http.Header) {
	clear(h)
	maps.Copy(h, from)
}
