package idemhttp_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// compressing is the usual middleware that compresses for clients who ask for it.
func compressing(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Add("Vary", "Accept-Encoding")
		if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			next.ServeHTTP(w, r)
			return
		}
		c := &compressor{ResponseWriter: w}
		next.ServeHTTP(c, r)
		if c.gzip != nil {
			_ = c.gzip.Close()
		}
	})
}

type compressor struct {
	http.ResponseWriter
	gzip *gzip.Writer
}

func (c *compressor) WriteHeader(status int) {
	if c.gzip == nil && status >= 200 && status != 204 && status != 304 {
		c.Header().Del("Content-Length")
		c.Header().Set("Content-Encoding", "gzip")
		c.gzip = gzip.NewWriter(c.ResponseWriter)
	}
	c.ResponseWriter.WriteHeader(status)
}

func (c *compressor) Write(b []byte) (int, error) {
	if c.gzip == nil {
		c.WriteHeader(200)
	}
	return c.gzip.Write(b)
}

// plain undoes the coding of an answer.
func (s seen) plain(t *testing.T) string {
	t.Helper()
	if s.Header.Get("Content-Encoding") != "gzip" {
		return s.Body
	}
	r, err := gzip.NewReader(strings.NewReader(s.Body))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// C33: a retry gets the same status, kept headers and bytes, in a coding that it understands, whether the answer is compressed
// outside the middleware or inside it, and whichever of the two requests asked for it.
func TestC33ReplayIsInACodingThatTheClientTakes(t *testing.T) {
	b := setup(t)
	const body = `{"z":1,  "a":9007199254740993}` + "\n"
	receipt := func(w http.ResponseWriter, _ *http.Request, charge func()) {
		charge()
		h := w.Header()
		h.Set("Location", "/orders/1")
		h.Set("ETag", `W/"a"`)
		h.Set("Content-Type", "application/json; charset=utf-8")
		h.Add("Link", "</2>; rel=next")
		h.Add("Link", "</0>; rel=prev")
		w.WriteHeader(201)
		_, _ = io.WriteString(w, body)
	}
	inside := func(w http.ResponseWriter, r *http.Request, charge func()) {
		compressing(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { receipt(w, r, charge) })).ServeHTTP(w, r)
	}
	kept := http.Header{
		"Location": {"/orders/1"}, "Etag": {`W/"a"`}, "Content-Type": {"application/json; charset=utf-8"},
		"Link": {"</2>; rel=next", "</0>; rel=prev"}, "Vary": {"Accept-Encoding"},
	}
	b.inBothModes(func(b *bundle, mode mode) {
		for where, url := range map[string]string{
			"outside": b.quiet(compressing(mode.handle(b, b.m, receipt))),
			"inside":  b.quiet(mode.handle(b, b.m, inside)),
		} {
			for _, tries := range [][]string{{"gzip", "", "gzip"}, {"", "gzip"}} {
				key := `"` + where + strings.Join(tries, ",") + b.Name() + `"`
				for i, coding := range tries {
					r := newRequest(url, key, "{}")
					if coding != "" {
						r.Header.Set("Accept-Encoding", coding)
					}
					got := b.look(r)
					what := where + ", asked for " + strings.Join(tries[:i+1], ", then ")
					if got.Status != 201 || got.plain(b.T) != body || got.replayed() != (i > 0) {
						b.Errorf("%s: %+v", what, got)
					}
					coded := got.Header.Get("Content-Encoding")
					if coded != "" && coding == "" || coded == "" && coding != "" && where == "outside" {
						b.Errorf("%s: the coding is %q", what, coded)
					}
					for _, name := range []string{"Content-Encoding", "Content-Length", "Idempotent-Replayed"} {
						delete(got.Header, name)
					}
					if diff := cmp.Diff(kept, got.Header); diff != "" {
						b.Errorf("%s (-want +got):\n%s", what, diff)
					}
				}
			}
		}
	})
}

// C31: nothing that a client or a handler can send makes the record fail after the effect, and all of it comes back as it was.
func TestC31BytesThatAreNoTextComeBackAsTheyWere(t *testing.T) {
	b := setup(t)
	everyByte := make([]byte, 256)
	for i := range everyByte {
		everyByte[i] = byte(i)
	}
	for name, test := range map[string]struct {
		path, request string
		h             handlerFunc
	}{
		"NUL in a JSON request":    {"/charges", `{"note":"a\u0000b"}`, writes(201, "{}")},
		"NUL itself":               {"/charges", "{\"note\":\"a\x00b\"}", writes(201, "{}")},
		"no UTF-8":                 {"/charges", "\xff\xfe", writes(201, "{}")},
		"NUL in a JSON answer":     {"/charges", "{}", writes(200, `{"note":"a\u0000b"}`, "Content-Type", "application/json")},
		"a PDF":                    {"/charges", "{}", writes(200, "%PDF-1.7\n\x00\xff\xe2\xe3\x00", "Content-Type", "application/pdf")},
		"all bytes":                {"/charges", "{}", writes(200, string(everyByte))},
		"a megabyte of them":       {"/charges", "{}", writes(200, string(bytes.Repeat(everyByte, 4096)))},
		"Latin-1 in a header":      {"/charges", "{}", writes(200, "", "X-City", "M\xfcnchen")},
		"UTF-8 in a header":        {"/charges", "{}", writes(200, "", "X-City", "München")},
		"NUL in the path":          {"/orders/%00", "{}", writes(200, "x")},
		"no UTF-8 in the path":     {"/orders/%ff%fe", "{}", writes(200, "x")},
		"NUL in the query":         {"/charges?a=%00", "{}", writes(200, "x")},
		"a failure with a blob":    {"/charges", "{}", writes(422, "\x00\xff")},
		"a header that is no name": {"/charges", "{}", writes(200, "x", "X Note", "a", "X-Note", "b")},
	} {
		t.Run(name, func(t *testing.T) {
			b.in(t).inBothModes(func(b *bundle, mode mode) {
				server, _ := b.serveLogged(mode.handle(b, b.m, test.h), "/orders/{id}")
				charges := b.charges()
				ask := func() seen { return b.look(newRequest(server.URL+test.path, `"`+b.Name()+`"`, test.request)) }
				first := ask()
				if first.problem() != "" || first.Cut {
					b.Fatalf("%+v", first)
				}
				b.wantSameAgain(first, ask())
				want := 1
				if mode.name == "atomic" && first.Status >= 400 {
					want = 0
				}
				if n := b.charges() - charges; n != want {
					b.Errorf("%d charges, want %d", n, want)
				}
			})
		})
	}
}
