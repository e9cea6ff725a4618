package house

import (
	"go/ast"
	"go/token"
	"regexp"
	"strings"
	"testing"

	"github.com/pgidem/pgidem/sql/schema"
)

// mayLeaveOut are the tests that a machine may be unable to run, or that are none, with the reason.
var mayLeaveOut = map[string]string{
	`t.Skip("only acts in a child process")`:       "TestChild is the body of a process that other tests start",
	`t.Skip("only root is not to run PostgreSQL")`: "is about root, and other accounts cannot be it",
	`t.Skip("PGIDEM_TEST_DOWNLOAD is not set")`:    "downloads 200 MB",
	`t.Skip("no npm")`:                             "downloads with npm",
	`t.Skip("no pg_basebackup")`:                   "downloaded servers have none, and Debian's copies no newer server",
	`t.Skip("no member")`:                          "rapid's: draws another document",
}

// A test that does not run says nothing, and looks as if it did.
func TestNoTestIsSkipped(t *testing.T) {
	t.Parallel()
	skip := regexp.MustCompile(`\b[a-z]+\.Skip(Now|f)?\(.*\)`)
	for _, path := range tree(t, ".", "_test.go") {
		for i, line := range strings.Split(read(t, path), "\n") {
			if strings.Contains(line, "`") {
				continue // the list above
			}
			if found := skip.FindString(line); found != "" && mayLeaveOut[found] == "" {
				t.Errorf("%s:%d: %s", path, i+1, found)
			}
		}
	}
}

func TestNothingIsLeftToDo(t *testing.T) {
	t.Parallel()
	unfinished := regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|X` + `XX)\b`)
	for _, path := range tree(t, ".", ".go", ".sql", ".md", ".sh", ".yaml", ".yml", ".mod", "Makefile", ".ci/run", ".patch") {
		for i, line := range strings.Split(read(t, path), "\n") {
			if unfinished.MatchString(line) {
				t.Errorf("%s:%d: %s", path, i+1, strings.TrimSpace(line))
			}
		}
	}
}

// Store.Check compares the database with this constant.
func TestSchemaVersionIsTheNewestMigrations(t *testing.T) {
	t.Parallel()
	entries, err := schema.FS.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	newest := strings.TrimLeft(entries[len(entries)-1].Name()[:6], "0")
	_, file := parse(t, "idem/check.go")
	var constant string
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if ok && spec.Names[0].Name == "schemaVersion" {
			if lit, ok := spec.Values[0].(*ast.BasicLit); ok && lit.Kind == token.INT {
				constant = lit.Value
			}
		}
		return true
	})
	if constant != newest {
		t.Errorf("schemaVersion in idem/check.go is %q, the newest migration is %q", constant, newest)
	}
}

// A target that forgets a module would leave it unchecked.
func TestMakefileKnowsEveryModule(t *testing.T) {
	t.Parallel()
	line := regexp.MustCompile(`(?m)^MODULES := (.*)$`).FindStringSubmatch(read(t, "Makefile"))
	if line == nil {
		t.Fatal("no MODULES in the Makefile")
	}
	named := strings.Fields(line[1])
	var found []string
	for _, path := range tree(t, ".", "go.mod") {
		dir := strings.TrimSuffix(strings.TrimSuffix(path, "go.mod"), "/")
		if dir == "" {
			dir = "."
		}
		found = append(found, dir)
	}
	if got, want := strings.Join(found, " "), strings.Join(named, " "); !sameWords(named, found) {
		t.Errorf("the Makefile's MODULES are %q, the tree has %q", want, got)
	}
}

func sameWords(a, b []string) bool {
	seen := map[string]int{}
	for _, w := range a {
		seen[w]++
	}
	for _, w := range b {
		seen[w]--
	}
	for _, n := range seen {
		if n != 0 {
			return false
		}
	}
	return true
}
