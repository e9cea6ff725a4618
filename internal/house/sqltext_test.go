package house

import (
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// control are the first words of the statements that Go code may spell: those that open, end and divide transactions.
var control = []string{"", "BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT", "RELEASE"}

// sqlText knows a statement of SQL by how it begins.
var sqlText = regexp.MustCompile(`(?is)^\s*(select\s.*\sfrom\s|select\s+[a-z_.]+\s*\(|insert\s+into\s|update\s+[a-z_."]+\s.*\bset\s|delete\s+from\s|truncate\s+table\s|with\s+[a-z_]+\s+as\s|merge\s+into\s|(create|alter|drop)\s+(table|index|schema|view|function|role|type)\s|set\s+(local|session)\s|lock\s+table\s|copy\s+[a-z_.]+\s.*(from|to)\s|listen\s+[a-z_]+$|notify\s+[a-z_]+)`)

// senders are the methods that send their text to the server.
var senders = []string{"Exec", "Query", "QueryRow", "Queue", "Word", "SendBatch", "Prepare"}

// mayHoldSQL are files whose questions sqlc cannot ask, with the reason. Even they touch no table of schema idem.
var mayHoldSQL = map[string]string{
	"cmd/idem/lock.go":   "takes golang-migrate's session lock, before there is a schema",
	"cmd/idem/pooler.go": "chooses the simple protocol, which a pooler cannot lead astray",
	"cmd/idem/record.go": "writes golang-migrate's table, whose name is quoted at run time",
	"cmd/idem/state.go":  "reads golang-migrate's table, whose name is quoted at run time",
}

var idemTable = regexp.MustCompile(`\bidem\.(keys|steps|audit|overview|events|outbox)\b`)

// The protocol is in sql, where people review it and sqlc and a server check it.
func TestGoCodeOfTheLibraryHoldsNoSQL(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{"idem", "cmd"} {
		for _, path := range tree(t, dir, ".go") {
			if !strings.HasSuffix(path, "_test.go") {
				set, file := parse(t, path)
				for _, found := range sqlIn(file) {
					if mayHoldSQL[path] == "" || idemTable.MatchString(found.Value) {
						t.Errorf("%s: SQL in Go: %s", set.Position(found.Pos()), found.Value)
					}
				}
			}
		}
	}
}

// sqlIn finds the string literals that are SQL, and those that are sent to a server, other than transaction control.
func sqlIn(file *ast.File) []*ast.BasicLit {
	var found []*ast.BasicLit
	add := func(lit *ast.BasicLit) {
		if !slices.Contains(found, lit) {
			found = append(found, lit)
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			if text, ok := textOf(n); ok && sqlText.MatchString(text) {
				add(n)
			}
		case *ast.CallExpr:
			method, ok := n.Fun.(*ast.SelectorExpr)
			if !ok || !slices.Contains(senders, method.Sel.Name) {
				return true
			}
			for _, arg := range n.Args[:min(2, len(n.Args))] { // the text follows the context
				lit, ok := arg.(*ast.BasicLit)
				if !ok {
					continue
				}
				text, _ := textOf(lit)
				if first, _, _ := strings.Cut(text, " "); !slices.Contains(control, strings.TrimSuffix(first, ";")) {
					add(lit)
				}
			}
		}
		return true
	})
	return found
}

func textOf(lit *ast.BasicLit) (string, bool) {
	if lit.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(lit.Value)
	return text, err == nil
}

func TestSQLTextKnowsSQL(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"SELECT key FROM idem.keys":             true,
		"\n\tselect pg_advisory_lock(1)":        true,
		"INSERT INTO x VALUES (1)":              true,
		"UPDATE idem.keys SET a = 1":            true,
		"DELETE FROM x":                         true,
		"WITH a AS (SELECT 1)":                  true,
		"CREATE TABLE x ()":                     true,
		"SET LOCAL a = 1":                       true,
		"COMMIT":                                false,
		"ROLLBACK TO SAVEPOINT a":               false,
		"Select a key by its name":              false,
		"Delete finished keys past retention":   false,
		"update the key first":                  false,
		"role %q lacks a right: GRANT %s ON %s": false,
		"with a lease that lapsed":              false,
		"create the schema, or run it again":    false,
		"set the clocks first":                  false,
	} {
		if got := sqlText.MatchString(text); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
}
