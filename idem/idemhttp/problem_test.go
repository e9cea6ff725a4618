package idemhttp_test

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/idem/idemhttp"
)

// A type is a link: each leads to a heading of docs/protocol.md, and each heading there is a type.
func TestProblemTypesAreHeadingsOfThePage(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "problem.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var types []string
	ast.Inspect(file, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			if name, ok := call.Fun.(*ast.Ident); ok && name.Name == "problem" {
				text, _ := strconv.Unquote(call.Args[1].(*ast.BasicLit).Value)
				types = append(types, text)
			}
		}
		return true
	})
	page := protocolPage(t)
	_, section, found := strings.Cut(page, "\n### Problems\n")
	if !found {
		t.Fatal("docs/protocol.md has no section of problems")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	var headings []string
	for _, match := range regexp.MustCompile(`(?m)^### (.*)\n\n((?:.+\n)+)`).FindAllStringSubmatch(section, -1) {
		headings = append(headings, match[1])
		if n := strings.Count(match[2], "\n"); n < 2 || n > 4 {
			t.Errorf("%s is explained in %d lines, want 2 to 4", match[1], n)
		}
	}
	slices.Sort(types)
	slices.Sort(headings)
	if diff := cmp.Diff(types, headings); diff != "" {
		t.Errorf("-types of problem.go +headings of docs/protocol.md:\n%s", diff)
	}
	if n := strings.Count(page, "\n### missing-key\n"); n != 1 {
		t.Errorf("%d headings missing-key: a fragment leads to the first", n)
	}
}

// A problem is a document by RFC 9457, is not for caches, and has the members that a client relies on.
func TestProblemIsADocument(t *testing.T) {
	b := setup(t)
	b.inBothModes(func(b *bundle, mode mode) {
		url := b.quiet(mode.handle(b, b.m.With(idem.Policy{MaxBody: 3}), created))
		b.look(newRequest(url, b.Name(), "{}"))
		for name, test := range map[string]struct {
			key, body string
			want      map[string]any
		}{
			"without a key": {"", "{}", map[string]any{"status": 400.0, "type": "missing-key"}},
			"another body":  {b.Name(), `{"a":1}`, map[string]any{"status": 422.0, "type": "key-reused"}},
			"not kept":      {b.Name(), "{}", map[string]any{"status": 409.0, "type": "response-not-kept", "response_status": 201.0}},
		} {
			got := b.look(newRequest(url, test.key, test.body))
			document := make(map[string]any)
			decoder := json.NewDecoder(strings.NewReader(got.Body))
			if err := decoder.Decode(&document); err != nil {
				b.Fatalf("%s: %v: %s", name, err, got.Body)
			}
			for _, member := range []string{"title", "detail"} {
				if text, _ := document[member].(string); text == "" {
					b.Errorf("%s: no %s", name, member)
				}
				delete(document, member)
			}
			test.want["type"] = idemhttp.ProblemBase + test.want["type"].(string)
			if diff := cmp.Diff(test.want, document); diff != "" {
				b.Errorf("%s (-want +got):\n%s", name, diff)
			}
			length := got.Header.Get("Content-Length")
			got.Header.Del("Content-Length")
			if diff := cmp.Diff(http.Header{
				"Content-Type": {"application/problem+json"}, "Cache-Control": {"no-store"}, "X-Content-Type-Options": {"nosniff"},
			}, got.Header); diff != "" || length != strconv.Itoa(len(got.Body)) {
				b.Errorf("%s: header, of length %s (-want +got):\n%s", name, length, diff)
			}
		}
	})
}

// What stood in the header for the handler's answer is not said of a problem.
func TestProblemDropsWhatWasSaidOfAnotherAnswer(t *testing.T) {
	b := setup(t)
	b.inBothModes(func(b *bundle, mode mode) {
		h := mode.handle(b, b.m, created)
		url := b.quiet(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			for _, name := range []string{"Content-Encoding", "Content-Length", "ETag", "Last-Modified", "Trailer"} {
				w.Header().Set(name, "9")
			}
			w.Header().Set("X-Outer", "stays")
			h.ServeHTTP(w, r)
		}))
		got := b.look(newRequest(url, "", "{}"))
		if got.problem() != "missing-key" || got.Cut || got.Header.Get("X-Outer") != "stays" || len(got.Header) != 5 {
			b.Errorf("%+v", got)
		}
	})
}

// C48: a problem tells nothing of the earlier request or its answer, and a failure not what failed.
func TestProblemsTellNothingOfTheEarlierRequest(t *testing.T) {
	b := setup(t)
	secret := func(w http.ResponseWriter, _ *http.Request, charge func()) {
		charge()
		w.Header().Set("X-Answer", "hunter2")
		w.WriteHeader(201)
		_, _ = w.Write(bytes.Repeat([]byte("hunter2"), 10))
	}
	b.inBothModes(func(b *bundle, mode mode) {
		url := b.quiet(mode.handle(b, b.m.With(idem.Policy{MaxBody: 3}), secret))
		first := b.look(newRequest(url, "hunter2"+mode.name, `{"card":"hunter2"}`))
		for _, body := range []string{`{"card":"other"}`, `{"card":"hunter2"}`} {
			got := b.look(newRequest(url, "hunter2"+mode.name, body))
			if got.problem() == "" || strings.Contains(got.Body, "hunter2") || got.Header.Get("X-Answer") != "" {
				b.Errorf("after %d: %+v", first.Status, got)
			}
		}
	})
	failing := b.quiet(b.m.HandlerTx(failsWith("hunter2")))
	if got := b.look(newRequest(failing, "k", "{}")); got.problem() != "failed" || strings.Contains(got.Body, "hunter2") {
		t.Errorf("%+v", got)
	}
	if log := b.log.String(); !strings.Contains(log, "hunter2") || strings.Contains(log, "hunter2lease") {
		t.Errorf("the log is to have the error, and no key:\n%s", log)
	}
}
