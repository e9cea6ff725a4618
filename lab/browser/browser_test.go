package browser_test

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pgidem/pgidem/lab/browser"
	"github.com/pgidem/pgidem/lab/report/reporttest"
)

// opened is one browser for all tests; closeBrowser ends it, where it was opened.
var (
	closeBrowser = func() {}
	opened       = sync.OnceValues(func() (*browser.Browser, error) {
		b, err := browser.Open(context.Background())
		if err == nil {
			closeBrowser = b.Close
		}
		return b, err
	})
)

func TestMain(m *testing.M) {
	code := m.Run()
	closeBrowser()
	os.Exit(code)
}

// committed is the report of docs, which lab all writes.
const committed = "../../docs/lab/report.html"

func TestReportCanBeRead(t *testing.T) {
	t.Parallel()
	files := map[string]string{"page with everything that occurs": write(t, page(t))}
	switch _, err := os.Stat(committed); {
	case err == nil:
		files["docs"] = committed
	case !os.IsNotExist(err):
		t.Fatal(err)
	}
	for title, file := range files {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			path, err := filepath.Abs(file)
			if err != nil {
				t.Fatal(err)
			}
			views := browser.Views(path)
			names := slices.Sorted(maps.Keys(views))
			for i, s := range look(t, views, names) {
				for _, problem := range s.Problems() {
					t.Errorf("%s: %s", names[i], problem)
				}
				for _, c := range s.Chapters {
					if c.Failed && file == committed {
						t.Errorf("%s: chapter %s says that its experiment did not end", names[i], c.Name)
					}
				}
			}
		})
	}
}

func TestWhatCannotBeReadIsSeen(t *testing.T) {
	t.Parallel()
	good := page(t)
	cases := []struct{ name, old, new, says string }{
		{"script that throws", "</body>", "<script>throw Error('broken')</script></body>", "error: Error: broken"},
		{"picture from elsewhere", "</body>", `<img src="other.png" alt=""></body>`, "it asks for: file:"},
		{"wide line", "</body>", `<p style="white-space:nowrap">` + strings.Repeat("wide ", 400) + "</p></body>", "scrolls sideways"},
		{"faint text", "</body>", `<p style="color:#999;background:#fff">faint</p></body>`, "contrast below 4.5: 2.85 faint"},
		{"small letters", `font-size="11"`, `font-size="6"`, "a chart has text of 5."},
		{"table without rows", `<tr role="row" class="`, `<tr hidden class="`, "shows 1 charts and 0 tables"},
		{"hidden charts", `<div class="charts">`, `<div hidden>`, "shows 0 charts and 1 tables"},
		{"text beside its chart", `text-anchor="start"`, `text-anchor="end"`, "cut off: "},
		{"texts in each other", `<text x="0" y="`, `<text x="0" y="-70" class="`, "in each other: "},
	}
	views, names := make(map[string]browser.View), make([]string, len(cases))
	for i, c := range cases {
		bad := strings.ReplaceAll(good, c.old, c.new)
		if bad == good {
			t.Fatalf("%s: there is no %s in the page", c.name, c.old)
		}
		names[i], views[c.name] = c.name, browser.Views(write(t, bad))["phone-light"]
	}
	for i, s := range look(t, views, names) {
		problems := s.Problems()
		if !slices.ContainsFunc(problems, func(p string) bool { return strings.Contains(p, cases[i].says) }) {
			t.Errorf("%s: %q is not among %q", names[i], cases[i].says, problems)
		}
	}
}

// look fails where there is no browser and none can be had.
func look(t *testing.T, views map[string]browser.View, names []string) []browser.Seen {
	t.Helper()
	b, err := opened()
	if err != nil {
		t.Fatalf("the report cannot be looked at: %v", err)
	}
	ordered := make([]browser.View, len(names))
	for i, name := range names {
		ordered[i] = views[name]
	}
	seen, err := b.Look(t.Context(), ordered)
	if err != nil {
		t.Fatal(err)
	}
	return seen
}

// page is the HTML of a page with everything that occurs.
func page(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	if err := reporttest.Page().Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func write(t *testing.T, html string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(path, []byte(html), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
