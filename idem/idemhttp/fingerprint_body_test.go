package idemhttp_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"maps"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/idem/idemhttp"
)

const mebibyte = 1 << 20

func TestHandlerSeesTheUntouchedRequest(t *testing.T) {
	b := setup(t)
	large := strings.Repeat("0123456789abcdef", mebibyte/16)
	for _, s := range []sample{
		jsonSample(`{"b":1.50, "a":"\u00e9"}`),
		jsonSample(`{"a":1} x`),
		jsonSample(""),
		jsonSample("\ufeff{}"),
		typed("", "\x00\xff"),
		typed("", ""),
		form("a=1&a=2"),
		{body: `{"a":1}`, outside: chunked},
		{body: "", outside: chunked},
		{body: large, outside: chunked},
		typed("application/octet-stream", large),
		bomb(64 * mebibyte),
	} {
		for _, mode := range modes {
			t.Run(fmt.Sprintf("%s %.80s", mode.name, s), func(t *testing.T) {
				b := b.in(t)
				var sent, seen *http.Request
				var body []byte
				handler := mode.handle(b, b.m, func(w http.ResponseWriter, r *http.Request, charge func()) {
					var err error
					if body, err = io.ReadAll(r.Body); err != nil {
						t.Error(err)
					}
					seen = r
					created(w, r, charge)
				})
				server := b.serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					sent = r.Clone(r.Context())
					handler.ServeHTTP(w, r)
				}))
				first := b.send(s.over(server, "T", b.ownKey()))
				b.wantFirst(first, 201)
				if string(body) != s.body {
					t.Errorf("the handler read %.60q, %d bytes, want %.60q, %d bytes", body, len(body), s.body, len(s.body))
				}
				sent.Header.Del("Accept-Encoding")
				if !maps.EqualFunc(seen.Header, sent.Header, func(a, b []string) bool { return fmt.Sprint(a) == fmt.Sprint(b) }) {
					t.Errorf("header %v, was sent %v", seen.Header, sent.Header)
				}
				if seen.ContentLength != sent.ContentLength || fmt.Sprint(seen.TransferEncoding) != fmt.Sprint(sent.TransferEncoding) ||
					seen.Method != sent.Method || seen.URL.String() != sent.URL.String() || seen.Pattern != sent.Pattern || seen.Form != nil {
					t.Errorf("%+v, was sent %+v", seen, sent)
				}
				b.wantReplay(b.send(s.over(server, "T", b.ownKey())), first)
			})
		}
	}
}

func TestHandlerMayParseFormsAndReadTrailers(t *testing.T) {
	b := setup(t)
	var parts bytes.Buffer
	w := multipart.NewWriter(&parts)
	_ = w.WriteField("a", "1")
	_ = w.Close()
	trailed := form("a=1")
	trailed.outside = func(r *http.Request) { r.ContentLength, r.Trailer = -1, http.Header{"X-Checksum": {"sum"}} }
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			b := b.in(t)
			server := b.serve(mode.handle(b, b.m, func(w http.ResponseWriter, r *http.Request, charge func()) {
				w.Header().Set("X-Found", r.FormValue("a")+r.Trailer.Get("X-Checksum"))
				created(w, r, charge)
			}))
			for want, s := range map[string]sample{"1": form("a=1"), "1 ": typed(w.FormDataContentType(), parts.String()), "1sum": trailed} {
				first := b.send(s.over(server, mode.name, fmt.Sprintf("%q", want)))
				b.wantFirst(first, 201)
				if got := first.header.Get("X-Found"); got != strings.TrimSpace(want) {
					t.Errorf("the handler found %q, want %q", got, want)
				}
			}
		})
	}
}

func TestBodyOverTheLimitIsRefusedBeforeTheClaim(t *testing.T) {
	b := setup(t)
	small := *b.m
	small.MaxBody = 10
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			b := b.in(t)
			for most, server := range map[int]*httptest.Server{
				mebibyte: b.serve(mode.handle(b, b.m, created)),
				10:       b.serve(mode.handle(b, &small, created)),
			} {
				for _, way := range []func(*http.Request){nil, chunked} {
					over := sample{body: strings.Repeat("x", most+1), outside: way}
					b.wantProblem(b.send(over.over(server, "T", "k")), 413, "body-too-large")
				}
				asked, a := b.ask(server, strings.Repeat("x", most+1), keyed([]string{"k"}))
				b.wantProblem(a, 413, "body-too-large")
				if asked {
					t.Errorf("%d bytes at most: the client was asked for its body", most)
				}
			}
			bounded := b.serve(http.MaxBytesHandler(mode.handle(b, b.m, created), 10))
			b.wantProblem(b.send(sample{body: "01234567890", outside: chunked}.over(bounded, "T", "k")), 413, "body-too-large")
		})
	}
	b.idle()
	for _, mode := range modes { // and what is just within it is taken
		server := b.serve(mode.handle(b, &small, created))
		for key, way := range map[string]func(*http.Request){"length": nil, "chunks": chunked} {
			b.wantFirst(b.send(sample{body: "0123456789", outside: way}.over(server, mode.name, key)), 201)
		}
	}
}

func TestBodyThatCannotBeReadIsRefusedBeforeTheClaim(t *testing.T) {
	b := setup(t)
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			b := b.in(t)
			server := b.serve(mode.handle(b, b.m, created))
			for name, rest := range map[string]string{
				"cut off":         "Content-Length: 10\r\n\r\n{\"a\"",
				"a broken chunk":  "Transfer-Encoding: chunked\r\n\r\n3\r\n{\"a\r\nzz\r\n",
				"no end of chunk": "Transfer-Encoding: chunked\r\n\r\n3\r\n{\"a\r\n",
			} {
				t.Run(name, func(t *testing.T) {
					b := b.in(t)
					b.wantProblem(b.sendHalf(server, rest), 400, "unreadable-body")
				})
			}
		})
	}
	b.idle()
}

// sendHalf sends a request that ends with rest and nothing more.
func (b *bundle) sendHalf(server *httptest.Server, rest string) answer {
	b.Helper()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	fmt.Fprintf(conn, "POST /charges HTTP/1.1\r\nHost: test\r\nIdempotency-Key: k\r\nContent-Type: application/json\r\n%s", rest)
	_ = conn.(*net.TCPConn).CloseWrite()
	return b.readAnswer(bufio.NewReader(conn))
}

// A form that somebody has parsed before leaves nothing to compare: unnoticed, all forms would be one request.
func TestBodyThatWasReadBeforeIsAFault(t *testing.T) {
	b := setup(t)
	inChunks := func(s sample) sample {
		s.outside = chunked
		return s
	}
	parse := func(r *http.Request) { _ = r.ParseForm() }
	parseParts := func(r *http.Request) { _ = r.ParseMultipartForm(mebibyte) }
	drain := func(r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }
	parts := typed("multipart/form-data; boundary=x", "--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--x--\r\n")
	for name, row := range map[string]struct {
		s    sample
		read func(*http.Request)
	}{
		"a form":           {form("a=1"), parse},
		"a form in chunks": {inChunks(form("a=1")), parse},
		"a form's field":   {form("a=1"), func(r *http.Request) { r.FormValue("_method") }},
		"parts":            {parts, parseParts},
		"parts in chunks":  {inChunks(parts), parseParts},
		"a document":       {jsonSample(`{"a":1}`), drain},
	} {
		for _, mode := range modes {
			t.Run(mode.name+", "+name, func(t *testing.T) {
				b := b.in(t)
				handler := mode.handle(b, b.m, created)
				outside := b.serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					row.read(r)
					handler.ServeHTTP(w, r)
				}))
				b.wantProblem(b.send(row.s.over(outside, "T", "k")), 500, "misconfigured")
				byTenant := *b.m
				byTenant.Tenant = func(r *http.Request) (string, error) {
					row.read(r)
					return "T", nil
				}
				b.wantProblem(b.send(row.s.over(b.serve(mode.handle(b, &byTenant, created)), "T", "k")), 500, "misconfigured")
			})
		}
	}
	b.idle()
	if !strings.Contains(b.log.String(), "the body was read before") {
		t.Errorf("the log does not say why: %s", b.log.String())
	}
	for _, mode := range modes { // an empty form is nothing to lose
		handler := mode.handle(b, b.m, created)
		server := b.serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			parse(r)
			handler.ServeHTTP(w, r)
		}))
		b.wantFirst(b.send(form("").over(server, mode.name, "k")), 201)
	}
}

func TestFingerprinterThatFailsRefusesBeforeTheClaim(t *testing.T) {
	b := setup(t)
	for name, rule := range map[string]idemhttp.Fingerprinter{
		"an error": func(*http.Request, []byte, byte) (idem.Fingerprint, error) { return "", io.ErrNoProgress },
		"nothing":  func(*http.Request, []byte, byte) (idem.Fingerprint, error) { return "", nil },
		"no rule":  idemhttp.Revisions(nil).Fingerprint,
	} {
		for _, mode := range modes {
			t.Run(mode.name+" "+name, func(t *testing.T) {
				b := b.in(t)
				m := *b.m
				m.Fingerprint = rule
				b.wantProblem(b.post(b.serve(mode.handle(b, &m, created)), "k", "{}"), 500, "misconfigured")
			})
		}
	}
	b.idle()
}
