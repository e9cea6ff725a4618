package house

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// allowed are the modules that a user of the library may get: pgx and what pgx itself compiles in.
var allowed = []string{
	modulePath,
	"github.com/jackc/pgx/v5",
	"github.com/jackc/puddle/v2",
	"github.com/jackc/pgpassfile",
	"github.com/jackc/pgservicefile",
	"golang.org/x/crypto",
	"golang.org/x/sync",
	"golang.org/x/text",
}

// goList runs go list at the root and returns its lines.
func goList(t *testing.T, args ...string) []string {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list"}, args...)...)
	cmd.Dir = root
	var complaint strings.Builder
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list %q: %v\n%s", args, err, complaint.String())
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

// imports are the packages of this module that each package under patterns imports by itself, tests left out.
func imports(t *testing.T, patterns ...string) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for _, line := range goList(t, append([]string{"-f", `{{.ImportPath}}{{range .Imports}} {{.}}{{end}}`}, patterns...)...) {
		f := strings.Fields(line)
		all[f[0]] = f[1:]
	}
	return all
}

// within reports whether pkg is dir of this module or lies under it.
func within(pkg, dir string) bool {
	return pkg == modulePath+"/"+dir || strings.HasPrefix(pkg, modulePath+"/"+dir+"/")
}

func TestUsersCompileInPgxAndTheStandardLibraryOnly(t *testing.T) {
	t.Parallel()
	seen := 0
	for _, line := range goList(t, "-deps", "-f", `{{if not .Standard}}{{.ImportPath}} {{.Module.Path}}{{end}}`, "./idem/...", "./gen") {
		f := strings.Fields(line)
		if len(f) == 2 && !slices.Contains(allowed, f[1]) {
			t.Errorf("who imports idem or gen compiles in %s of module %s", f[0], f[1])
		}
		seen++
	}
	if seen < 10 {
		t.Errorf("go list names %d packages only", seen)
	}
}

func TestImportsPointOneWay(t *testing.T) {
	t.Parallel()
	for pkg, imported := range imports(t, "./gen", "./sql/schema", "./idem/...", "./cmd/...") {
		for _, i := range imported {
			var wrong bool
			switch {
			case within(pkg, "gen"):
				wrong = strings.HasPrefix(i, modulePath)
			case within(pkg, "sql/schema"):
				wrong = i != "embed"
			case within(pkg, "idem"): // the library never migrates, either
				wrong = strings.HasPrefix(i, modulePath) && !within(i, "idem") && !within(i, "gen")
			case within(pkg, "cmd"):
				wrong = within(i, "internal") || within(i, "lab")
			}
			if wrong {
				t.Errorf("%s imports %s", pkg, i)
			}
		}
	}
}
