package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// root is the repository's.
const root = "../.."

const modulePath = "github.com/pgidem/pgidem"

// tree lists the files of the repository whose names end in one of the suffixes, as paths from its root. What is built and what
// git or an editor keeps is left out.
func tree(t *testing.T, under string, suffixes ...string) []string {
	t.Helper()
	var paths []string
	err := fs.WalkDir(os.DirFS(root), under, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (path == "bin" || path == "lab/out" || strings.HasPrefix(d.Name(), ".") && len(d.Name()) > 1 && !slices.Contains([]string{".ci", ".github"}, d.Name())):
			return fs.SkipDir
		case d.Type().IsRegular() && slices.ContainsFunc(suffixes, func(s string) bool { return strings.HasSuffix(path, s) }):
			paths = append(paths, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// parse parses one file of Go.
func parse(t *testing.T, path string) (*token.FileSet, *ast.File) {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, read(t, path), parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return set, file
}
