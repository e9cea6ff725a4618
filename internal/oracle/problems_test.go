package oracle_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/pgidem/pgidem/idem/idemhttp"
)

// problems are what the source of idemhttp makes problem documents of: the title of each by status and type.
func problems(t *testing.T) map[string]string {
	t.Helper()
	titles := map[string]string{}
	paths, err := filepath.Glob("../../idem/idemhttp/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr: // problem(status, name, title)
				if fn, ok := n.Fun.(*ast.Ident); ok && fn.Name == "problem" {
					titles[fmt.Sprint(status(t, n.Args[0]), " ", idemhttp.ProblemBase, str(t, n.Args[1]))] = str(t, n.Args[2])
				}
			case *ast.CompositeLit: // Problem{Type: "about:blank", …}, whose title is that of its status
				fields := literal(n)
				if kind, ok := fields["Type"].(*ast.BasicLit); ok {
					titles[fmt.Sprint(status(t, fields["Status"]), " ", str(t, kind))] = ""
				}
			}
			return true
		})
	}
	if len(titles) < 10 {
		t.Fatalf("only %d problems were found in the source", len(titles))
	}
	return titles
}

// literal are the fields of a Problem that is spelled out.
func literal(n *ast.CompositeLit) map[string]ast.Expr {
	fields := map[string]ast.Expr{}
	if kind, ok := n.Type.(*ast.Ident); !ok || kind.Name != "Problem" {
		return fields
	}
	for _, element := range n.Elts {
		if pair, ok := element.(*ast.KeyValueExpr); ok {
			fields[pair.Key.(*ast.Ident).Name] = pair.Value
		}
	}
	return fields
}

func str(t *testing.T, e ast.Expr) string {
	t.Helper()
	lit, ok := e.(*ast.BasicLit)
	if !ok {
		t.Fatalf("%T where a literal was expected", e)
	}
	s, err := strconv.Unquote(lit.Value)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// status is the number behind http.StatusX.
func status(t *testing.T, e ast.Expr) int {
	t.Helper()
	constant, ok := e.(*ast.SelectorExpr)
	if !ok {
		t.Fatalf("%T where a status was expected", e)
	}
	for code := 100; code < 600; code++ {
		if text := http.StatusText(code); text != "" && "Status"+strings.ReplaceAll(text, " ", "") == constant.Sel.Name {
			return code
		}
	}
	t.Fatalf("no status is called %s", constant.Sel.Name)
	return 0
}

func atoi(t *testing.T, s string) float64 {
	t.Helper()
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return float64(n)
}
