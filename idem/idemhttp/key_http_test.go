package idemhttp_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/pgidem/pgidem/idem/idemhttp"
)

// ask sends the head of a POST to /charges, with the lines as they stand, that offers a body and waits to be asked for it (RFC
// 9110 section 10.1.1). It reports whether the server asked, sends the body if so, and returns the final answer.
func (b *bundle) ask(server *httptest.Server, body, lines string) (asked bool, a answer) {
	b.Helper()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	fmt.Fprintf(conn, "POST /charges HTTP/1.1\r\nHost: test\r\nContent-Type: application/json\r\n"+
		"Content-Length: %d\r\nExpect: 100-continue\r\n%s\r\n", len(body), lines)
	in := bufio.NewReader(conn)
	if a = b.readAnswer(in); a.status == http.StatusContinue {
		_, _ = io.WriteString(conn, body)
		return true, b.readAnswer(in)
	}
	return false, a
}

// readAnswer reads one answer, an interim one too, off a connection.
func (b *bundle) readAnswer(in *bufio.Reader) answer {
	b.Helper()
	resp, err := http.ReadResponse(in, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		b.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header, string(text)}
}

// keyed are header lines as they stand in a request's head.
func keyed(lines []string) string {
	var head strings.Builder
	for _, line := range lines {
		head.WriteString("Idempotency-Key: " + line + "\r\n")
	}
	return head.String()
}

// keys counts the rows of idem.keys.
func (b *bundle) keys() (n int) {
	b.Helper()
	if err := b.pool.QueryRow(b.Context(), "SELECT count(*) FROM idem.keys").Scan(&n); err != nil {
		b.Fatal(err)
	}
	return n
}

// idle fails if anything has been done for any request so far.
func (b *bundle) idle() {
	b.Helper()
	if charges, keys := b.charges(), b.keys(); charges != 0 || keys != 0 {
		b.Errorf("%d charges, %d keys; want none", charges, keys)
	}
}

func TestMalformedKeyIsRefusedBeforeAnyWork(t *testing.T) {
	b := setup(t)
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			b := b.in(t)
			server := b.serve(mode.handle(b, b.m, created))
			for _, s := range append(malformed(),
				spelling{"a tab alone", []string{"\t"}},
				spelling{"a folded line", []string{"a\r\n b"}},
			) {
				t.Run(s.name, func(t *testing.T) {
					b := b.in(t)
					asked, a := b.ask(server, `{"a":1}`, keyed(s.lines))
					b.wantProblem(a, 400, "malformed-key")
					if asked {
						t.Error("the client was asked for its body")
					}
					if a.header.Get("Retry-After") != "" {
						t.Error("the client is told to send it again")
					}
				})
			}
			for name, line := range map[string]string{"NUL": "a\x00", "DEL": "a\x7f", "NUL in a string": "\"a\x00\""} {
				t.Run(name, func(t *testing.T) { // net/http refuses them itself
					if _, a := b.in(t).ask(server, `{"a":1}`, keyed([]string{line})); a.status != 400 {
						t.Errorf("%d %s, want 400", a.status, a.body)
					}
				})
			}
		})
	}
	b.idle()
}

func TestWellFormedKeyIsTaken(t *testing.T) {
	b := setup(t)
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			b := b.in(t)
			server := b.serve(mode.handle(b, b.m, created))
			for _, s := range wellFormed() {
				t.Run(s.name, func(t *testing.T) {
					b := b.in(t)
					head := keyed(s.lines) + "X-Tenant: " + mode.name + "\r\n"
					asked, first := b.ask(server, `{"a":1}`, head)
					b.wantFirst(first, 201)
					if !asked {
						t.Error("the client was not asked for its body")
					}
					_, again := b.ask(server, `{"a":1}`, head)
					b.wantReplay(again, first)
				})
			}
		})
	}
	if got, want := b.charges(), len(modes)*len(wellFormed()); got != want {
		t.Errorf("%d charges, want %d", got, want)
	}
}

func TestQuotedAndBareAreOneKey(t *testing.T) {
	b := setup(t)
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			b := b.in(t)
			server := b.serve(mode.handle(b, b.m, created))
			before := b.charges()
			first := b.post(server, mode.name, `{"a":1}`)
			b.wantFirst(first, 201)
			for _, line := range []string{`"KEY"`, ` KEY `, `"KEY";v=1`, `"KEY"; a="b,c"; d`, "\t\"KEY\"\t"} {
				_, again := b.ask(server, `{"a":1}`, keyed([]string{strings.ReplaceAll(line, "KEY", mode.name)}))
				b.wantReplay(again, first)
			}
			for _, line := range []string{"'KEY'", `"KEY "`, "KEY.", strings.ToUpper(mode.name)} {
				b.wantFirst(b.post(server, strings.ReplaceAll(line, "KEY", mode.name), `{"a":1}`), 201)
			}
			if got := b.charges() - before; got != 5 {
				t.Errorf("%d charges, want 5", got)
			}
		})
	}
}

func TestMissingKeyIsRefusedWithALink(t *testing.T) {
	b := setup(t)
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			b := b.in(t)
			asked, a := b.ask(b.serve(mode.handle(b, b.m, created)), `{"a":1}`, "")
			b.wantProblem(a, 400, "missing-key")
			if asked {
				t.Error("the client was asked for its body")
			}
			if !strings.Contains(a.body, `"`+idemhttp.ProblemBase+`missing-key"`) || !strings.Contains(a.body, "Idempotency-Key") {
				t.Errorf("%s: no link, or no name of the header", a.body)
			}
		})
	}
	b.idle()
}

func TestKeyOfASafeMethodIsNotLookedAt(t *testing.T) {
	b := setup(t)
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			b := b.in(t)
			server := b.serve(mode.handle(b, b.m, func(w http.ResponseWriter, _ *http.Request, _ func()) { w.WriteHeader(204) }))
			for _, method := range []string{"GET", "HEAD", "OPTIONS", "TRACE"} {
				for _, key := range []string{"k", "a, b", ""} {
					r := newRequest(server.URL+"/charges", key, "")
					r.Method = method
					b.wantFirst(b.send(r), 204)
				}
			}
		})
	}
	b.idle()
}
