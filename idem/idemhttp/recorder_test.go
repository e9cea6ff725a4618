package idemhttp_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The first caller sees what net/http alone would send, and a retry sees it again.
func TestAnswerIsWhatNetHTTPAloneSends(t *testing.T) {
	b := setup(t)
	for name, h := range map[string]handlerFunc{
		"nothing":             func(http.ResponseWriter, *http.Request, func()) {},
		"a status":            writes(201, ""),
		"a status and a body": writes(201, `{"id":"ch_1"}`),
		"no status":           writes(0, "done"),
		"an empty write":      func(w http.ResponseWriter, _ *http.Request, _ func()) { _, _ = w.Write(nil) },
		"204":                 writes(204, ""),
		"304 with its fields": writes(304, "", "Etag", `"a"`, "Content-Type", "text/plain", "Content-Length", "7"),
		"a redirect": func(w http.ResponseWriter, r *http.Request, _ func()) {
			http.Redirect(w, r, "/orders/1", http.StatusSeeOther)
		},
		"http.Error":                  func(w http.ResponseWriter, _ *http.Request, _ func()) { http.Error(w, "no such order", 404) },
		"an unusual status":           writes(299, "well"),
		"exactly as long as declared": writes(200, "four", "Content-Length", "4"),
		"a length of zero":            writes(200, "", "Content-Length", "0"),
		"a length that is none":       writes(200, "four", "Content-Length", "four"),
		"a length below zero":         writes(200, "four", "Content-Length", "-4"),
		"an empty length":             writes(200, "four", "Content-Length", ""),
		"a type that is guessed":      writes(200, "<html><body>paid</body></html>"),
		"a type guessed of binary":    writes(200, "%PDF-1.7\n\x00\xff"),
		"no type, explicitly": func(w http.ResponseWriter, _ *http.Request, _ func()) {
			w.Header()["Content-Type"] = nil
			_, _ = io.WriteString(w, "<html>")
		},
		"a type in another spelling":   writes(200, "<html>", "content-type", "text/plain"),
		"a coding of the handler's":    writes(200, "\x1f\x8b\x08", "Content-Encoding", "gzip"),
		"a date of the handler's":      writes(200, "x", "Date", "Thu, 01 Jan 1970 00:00:00 GMT"),
		"two lines of a field":         writes(200, "x", "Link", "</2>; rel=next", "Link", "</0>; rel=prev"),
		"an empty field":               writes(200, "x", "X-Empty", ""),
		"a field with a line break":    writes(200, "x", "X-Note", "a\r\nX-Evil: 1"),
		"2,048 bytes":                  writes(200, strings.Repeat("x", 2048)),
		"2,049 bytes":                  writes(200, strings.Repeat("x", 2049)),
		"100 kB at once":               writes(200, strings.Repeat("0123456789", 10_000)),
		"100 kB by and by":             writesOften(strings.Repeat("x", 100), 1000),
		"100 kB of strings":            writesStrings(strings.Repeat("x", 100), 1000),
		"100 kB of known length":       writes(200, strings.Repeat("0123456789", 10_000), "Content-Length", "100000"),
		"a text after a short preface": writesOften("a", 700),
		"io.Copy":                      func(w http.ResponseWriter, _ *http.Request, _ func()) { copies(w, 100_000) },
		"io.Copy of known length": func(w http.ResponseWriter, _ *http.Request, _ func()) {
			w.Header().Set("Content-Length", "100")
			copies(w, 100)
		},
		"fields set too late": func(w http.ResponseWriter, _ *http.Request, _ func()) {
			w.WriteHeader(200)
			w.Header().Set("X-Late", "1")
			_, _ = io.WriteString(w, "x")
			w.Header().Set("X-Later", "1")
		},
		"a second status": func(w http.ResponseWriter, _ *http.Request, _ func()) {
			w.WriteHeader(201)
			w.WriteHeader(500)
			w.WriteHeader(0) // is none, and too late to matter
		},
		"103, then 201": func(w http.ResponseWriter, _ *http.Request, _ func()) {
			w.Header().Set("Link", "</style.css>; rel=preload")
			w.WriteHeader(103)
			w.Header().Set("Location", "/orders/1")
			w.WriteHeader(201)
			_, _ = io.WriteString(w, "paid")
		},
		"103 whose fields do not stay": func(w http.ResponseWriter, _ *http.Request, _ func()) {
			w.Header().Set("X-Hint", "1")
			w.WriteHeader(103)
			w.WriteHeader(102)
			w.Header().Del("X-Hint")
			_, _ = io.WriteString(w, "paid")
		},
		"a trailer that was declared": func(w http.ResponseWriter, _ *http.Request, _ func()) {
			w.Header().Set("Trailer", "X-Sum, x-other")
			w.Header().Add("Trailer", "X-Never")
			_, _ = io.WriteString(w, "paid")
			w.Header().Set("X-Sum", "4")
			w.Header().Set("X-Other", "o")
			w.Header().Set("X-Undeclared", "u")
		},
		"a trailer by prefix": func(w http.ResponseWriter, _ *http.Request, _ func()) {
			_, _ = io.WriteString(w, strings.Repeat("x", 5000)) // too long to be sent with a length
			w.Header().Set(http.TrailerPrefix+"X-Sum", "5000")
		},
		"a trailer by prefix, too late for a short body": func(w http.ResponseWriter, _ *http.Request, _ func()) {
			_, _ = io.WriteString(w, "x")
			w.Header().Set(http.TrailerPrefix+"X-Sum", "1")
		},
	} {
		t.Run(name, func(t *testing.T) {
			b.in(t).inBothModes(func(b *bundle, mode mode) {
				b.wantSameAgain(b.asNetHTTP(mode, h))
			})
		})
	}
}

// writes is a handler that writes fields, a status unless it is 0, and a body.
func writes(status int, body string, fields ...string) handlerFunc {
	return func(w http.ResponseWriter, _ *http.Request, charge func()) {
		charge()
		for i := 0; i < len(fields); i += 2 {
			w.Header()[fields[i]] = append(w.Header()[fields[i]], fields[i+1])
		}
		if status != 0 {
			w.WriteHeader(status)
		}
		if body != "" {
			_, _ = w.Write([]byte(body))
		}
	}
}

func writesOften(piece string, times int) handlerFunc {
	return func(w http.ResponseWriter, _ *http.Request, charge func()) {
		charge()
		for range times {
			_, _ = w.Write([]byte(piece))
		}
	}
}

func writesStrings(piece string, times int) handlerFunc {
	return func(w http.ResponseWriter, _ *http.Request, charge func()) {
		charge()
		for range times {
			_, _ = io.WriteString(w, piece)
		}
	}
}

// copies copies n bytes from a reader that cannot write itself.
func copies(w io.Writer, n int) {
	_, _ = io.Copy(w, io.LimitReader(strings.NewReader(strings.Repeat("0123456789", n/10)), int64(n)))
}

// The one difference: a short body by io.Copy is sent with its length, where net/http alone sends it in chunks.
func TestShortCopyIsSentWithItsLength(t *testing.T) {
	b := setup(t)
	h := func(w http.ResponseWriter, _ *http.Request, _ func()) { copies(w, 1000) }
	b.inBothModes(func(b *bundle, mode mode) {
		alone := b.look(newRequest(b.quiet(bare(h)), "k", "{}"))
		under := b.look(newRequest(b.quiet(mode.handle(b, b.m, h)), `"`+b.Name()+`"`, "{}"))
		alone.Header.Set("Content-Length", "1000")
		if diff := cmp.Diff(alone, under); diff != "" {
			b.Errorf("-alone +under:\n%s", diff)
		}
	})
}

// What a write returns is what net/http's returns, so that a handler that looks does the same.
func TestWriteFailsWhereNetHTTPsDoes(t *testing.T) {
	b := setup(t)
	for name, test := range map[string]struct {
		status int
		length string
		writes []string
	}{
		"to a 204":                {204, "", []string{"x", ""}},
		"to a 304":                {304, "", []string{"x"}},
		"beyond the length":       {200, "3", []string{"abcd"}},
		"beyond it by and by":     {200, "3", []string{"ab", "cd", "e"}},
		"after it has been met":   {200, "3", []string{"abc", "", "d"}},
		"of a whole, then beyond": {200, "3", []string{"abc", "d"}},
	} {
		t.Run(name, func(t *testing.T) {
			saying := make(chan string, 1)
			h := func(w http.ResponseWriter, _ *http.Request, _ func()) {
				if test.length != "" {
					w.Header().Set("Content-Length", test.length)
				}
				w.WriteHeader(test.status)
				var errs []string
				for _, s := range test.writes {
					n, err := w.Write([]byte(s))
					m, err2 := io.WriteString(w, "")
					errs = append(errs, said(n, err), said(m, err2))
				}
				saying <- strings.Join(errs, "; ")
			}
			b.in(t).inBothModes(func(b *bundle, mode mode) {
				b.look(newRequest(b.quiet(bare(h)), "k", "{}"))
				alone := <-saying
				b.look(newRequest(b.quiet(mode.handle(b, b.m, h)), `"`+b.Name()+`"`, "{}"))
				if under := <-saying; under != alone {
					b.Errorf("net/http says %q, the recorder %q", alone, under)
				}
			})
		})
	}
}

func said(n int, err error) string {
	if err == nil {
		return string(rune('0' + n))
	}
	return err.Error()
}

// A status that is none panics as with net/http, before anything is recorded.
func TestStatusThatIsNonePanics(t *testing.T) {
	b := setup(t)
	for _, status := range []int{0, -1, 99, 1000} {
		b.inBothModes(func(b *bundle, mode mode) {
			first, again := b.asNetHTTP(mode, func(w http.ResponseWriter, _ *http.Request, _ func()) { w.WriteHeader(status) })
			if !first.Cut || again.replayed() {
				b.Errorf("status %d: %+v, then %+v", status, first, again)
			}
		})
	}
}
