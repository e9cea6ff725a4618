package idemhttp_test

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/idem/idemhttp"
	"github.com/pgidem/pgidem/internal/testdb"
)

// The tables of docs/protocol.md are the expectation: the tests hold only what each row does, and every cell is compared with
// what then happens.

const (
	requestTable = "### What a request gets"
	outcomeTable = "### What a handler's answer becomes"
)

// protocolPage is docs/protocol.md.
func protocolPage(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

// tableUnder reads the first table under a heading of the page, without its head: the cells of each row.
func tableUnder(t *testing.T, heading string) (rows [][]string) {
	t.Helper()
	_, section, found := strings.Cut(protocolPage(t), "\n"+heading+"\n")
	if !found {
		t.Fatalf("docs/protocol.md has no %q", heading)
	}
	for line := range strings.Lines(section) {
		if !strings.HasPrefix(line, "|") {
			if rows != nil {
				break
			}
			continue
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		rows = append(rows, cells)
	}
	if len(rows) < 3 {
		t.Fatalf("no table under %q", heading)
	}
	return rows[2:]
}

// modesOf are those that the cell of a table names.
func modesOf(t *testing.T, cell string) []mode {
	t.Helper()
	if cell == "both" {
		return modes
	}
	i := slices.IndexFunc(modes, func(m mode) bool { return m.name == cell })
	if i < 0 {
		t.Fatalf("%q is no mode", cell)
	}
	return modes[i : i+1]
}

// wantSameRows fails unless the table and the test have the same rows, by the cell that stands first.
func wantSameRows[T any](t *testing.T, table [][]string, tests map[string]T) {
	t.Helper()
	seen := make(map[string]bool)
	for _, row := range table {
		for _, m := range modesOf(t, row[1]) {
			if seen[row[0]+m.name] {
				t.Errorf("the table has two rows for %q in %s mode", row[0], m.name)
			}
			seen[row[0]+m.name] = true
		}
		seen[row[0]] = true
		if _, ok := tests[row[0]]; !ok {
			t.Errorf("the table has a row that is not tested: %q", row[0])
		}
	}
	for name := range tests {
		if !seen[name] {
			t.Errorf("a row is tested that the table does not have: %q", name)
		}
	}
}

// stateOf is what a table says of a key: none, or its state.
func (b *bundle) stateOf(m *idemhttp.Middleware, key idem.Key) string {
	b.Helper()
	store := &idem.Store{NoCoalescing: testdb.NoCoalescing(), Pool: b.pool, Policy: m.Store.Policy}
	found, err := store.Lookup(b.Context(), key)
	switch {
	case errors.Is(err, idem.ErrNotFound):
		return "none"
	case err != nil:
		b.Fatal(err)
	}
	return string(found.State)
}

// rowOf is a key's row as text, "" where none stands.
func (b *bundle) rowOf(key idem.Key) (text string) {
	b.Helper()
	err := b.pool.QueryRow(b.Context(), `SELECT coalesce((SELECT k::text FROM idem.keys AS k
		WHERE tenant_id = $1 AND endpoint IN ($2, '*') AND key = $3), '')`, key.Tenant, key.Endpoint, key.ID).Scan(&text)
	if err != nil {
		b.Fatal(err)
	}
	return text
}

func (b *bundle) exec(sql string, args ...any) {
	b.Helper()
	if _, err := b.pool.Exec(b.Context(), sql, args...); err != nil {
		b.Fatalf("%s: %v", sql, err)
	}
}
