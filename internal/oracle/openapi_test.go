package oracle_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/pgidem/pgidem/idem/idemhttp"
)

// load reads an OpenAPI document with all that it refers to, and fails unless it is one.
func load(t testing.TB, path string) *openapi3.T {
	t.Helper()
	loader := openapi3.NewLoader()
	loader.IsExternalRefsAllowed = true
	doc, err := loader.LoadFromFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(t.Context(), openapi3.EnableExamplesValidation(), openapi3.EnableSchemaFormatValidation()); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return doc
}

// fragment is docs/openapi.yaml. It is read through a link, for the go command takes a test's last result for good where only
// files outside the module have changed.
func fragment(t testing.TB) *openapi3.T {
	t.Helper()
	return load(t, "testdata/openapi.yaml")
}

func TestFragmentIsAnOpenAPIDocument(t *testing.T) {
	components := fragment(t).Components
	if components.Parameters["IdempotencyKey"].Value.Name != idemhttp.HeaderKey {
		t.Errorf("the key is not in %s", idemhttp.HeaderKey)
	}
	for _, name := range []string{"IdempotentReplayed", "RetryAfter"} {
		if components.Headers[name] == nil {
			t.Errorf("no header %s", name)
		}
	}
}

// schema is that of a response's problem documents.
func schema(r *openapi3.ResponseRef) *openapi3.Schema {
	return r.Value.Content["application/problem+json"].Schema.Value
}

// listed are the problems that the fragment's responses list: the title of each by status and type.
func listed(t *testing.T) map[string]string {
	t.Helper()
	titles := map[string]string{}
	for name, response := range fragment(t).Components.Responses {
		var statuses, types []any
		for _, part := range schema(response).AllOf {
			if status := part.Value.Properties["status"]; status != nil && len(status.Value.Enum) > 0 {
				statuses, types = status.Value.Enum, part.Value.Properties["type"].Value.Enum
			}
		}
		if len(statuses) != 1 || len(types) == 0 {
			t.Fatalf("%s lists the statuses %v and the types %v", name, statuses, types)
		}
		examples := response.Value.Content["application/problem+json"].Examples
		for _, kind := range types {
			title := "" // of about:blank it is the status's
			if example := examples[strings.TrimPrefix(kind.(string), idemhttp.ProblemBase)]; example != nil {
				value := example.Value.Value.(map[string]any)
				title = value["title"].(string)
				if value["type"] != kind {
					t.Errorf("%s: the example of %s has the type %s", name, kind, value["type"])
				}
			}
			titles[fmt.Sprint(statuses[0], " ", kind)] = title
		}
		if len(examples) > len(types) {
			t.Errorf("%s: %d examples of %d types", name, len(examples), len(types))
		}
	}
	return titles
}

// Every problem that the middleware can send is listed under its status, and no other.
func TestFragmentListsTheProblemsOfTheCode(t *testing.T) {
	want, got := problems(t), listed(t)
	for problem, title := range want {
		if there, ok := got[problem]; !ok || there != title {
			t.Errorf("docs/openapi.yaml has %s as %q, want %q (listed: %t)", problem, there, title, ok)
		}
	}
	for problem := range got {
		if _, ok := want[problem]; !ok {
			t.Errorf("docs/openapi.yaml lists %s, which the code does not send", problem)
		}
	}
}

// A type leads to its explanation.
func TestEveryProblemIsExplained(t *testing.T) {
	page, err := os.ReadFile("testdata/protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	for problem := range problems(t) {
		_, kind, _ := strings.Cut(problem, " ")
		name, ours := strings.CutPrefix(kind, idemhttp.ProblemBase)
		if ours && !regexp.MustCompile(`(?m)^#+ `+regexp.QuoteMeta(name)+`$`).Match(page) {
			t.Errorf("docs/protocol.md has no heading %s", name)
		}
	}
}

// Whoever describes an API refers to the fragment.
func TestFragmentCanBeReferredTo(t *testing.T) {
	responses := load(t, "testdata/orders.yaml").Paths.Value("/orders").Post.Responses
	for problem := range problems(t) {
		status, kind, _ := strings.Cut(problem, " ")
		response := responses.Value(status)
		if response == nil {
			t.Errorf("no response %s", status)
			continue
		}
		sent := map[string]any{"type": kind, "title": "x", "status": atoi(t, status)}
		if err := schema(response).VisitJSON(sent); err != nil {
			t.Errorf("%s: %v", problem, err)
		}
		sent["status"] = 418.0
		if schema(response).VisitJSON(sent) == nil {
			t.Errorf("%s would pass with another status", problem)
		}
	}
}

// FuzzKeyPattern compares the pattern, by which a gateway may refuse a request, with the parser. Parameters are the parser's
// alone.
func FuzzKeyPattern(f *testing.F) {
	pattern := regexp.MustCompile(fragment(f).Components.Parameters["IdempotencyKey"].Value.Schema.Value.Pattern)
	for _, seed := range []string{
		"5f0c1c0e-8d7e-4f6b-9a0f-2f3d1f6a7b01", "", "a,b", "a b", "a;b", `a\b`, `a"b`, `"a, b; c"`, `"a\"\\"`, `"a\b"`, `""`, `"a`, `"a";b=1`, `"a" ;b`,
		strings.Repeat("k", 255), strings.Repeat("k", 256), `"` + strings.Repeat(`\"`, 255) + `"`, `"` + strings.Repeat("k", 256) + `"`,
		"é", "\x7f", "a\n", "!#$%&'()*+-./09:<=>?@AZ[]^_`az{|}~",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		value = strings.Trim(value, " \t") // a header has none around its value
		_, err := idemhttp.ParseKey([]string{value})
		matches := pattern.MatchString(value)
		parameters := strings.HasPrefix(value, `"`) && strings.Contains(value, ";")
		if err == nil && !matches || matches && err != nil && !parameters {
			t.Fatalf("%q matches: %t; ParseKey: %v", value, matches, err)
		}
	})
}
