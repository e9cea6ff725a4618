package sql_test

import (
	"context"
	_ "embed"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/pgidem/pgidem/internal/testdb"
	"github.com/pgidem/pgidem/sql/schema"
)

//go:embed testdata/catalog.sql
var catalogSQL string

//go:embed testdata/uncommented.sql
var uncommentedSQL string

// migration is a pair of files.
type migration struct {
	number   int
	name     string
	up, down string
}

var fileName = regexp.MustCompile(`^([0-9]{6})_([a-z_]+)\.up\.sql$`)

// migrations reads the pairs in order.
func migrations(t *testing.T) []migration {
	t.Helper()
	names, err := fs.Glob(schema.FS, "*.up.sql")
	if err != nil || len(names) == 0 {
		t.Fatalf("no migrations (%v)", err)
	}
	var all []migration
	for _, name := range names {
		match := fileName.FindStringSubmatch(name)
		if match == nil {
			t.Fatalf("%s is not named 000001_words.up.sql", name)
		}
		number, _ := strconv.Atoi(match[1])
		up, err := fs.ReadFile(schema.FS, name)
		if err != nil {
			t.Fatal(err)
		}
		down, err := fs.ReadFile(schema.FS, strings.TrimSuffix(name, ".up.sql")+".down.sql")
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, migration{number, match[2], string(up), string(down)})
	}
	return all
}

func TestMigrationsAreNumberedFromOneAndSayWhatTheyLock(t *testing.T) {
	t.Parallel()
	all := migrations(t)
	for i, m := range all {
		if m.number != i+1 {
			t.Errorf("migration %d (%s) stands in place %d", m.number, m.name, i+1)
		}
		for _, text := range []string{m.up, m.down} {
			first, _, _ := strings.Cut(text, "\n")
			if !strings.HasPrefix(first, "-- ") || !strings.Contains(strings.ToLower(first), "locks nothing") && !strings.Contains(first, "Takes ") {
				t.Errorf("migration %d (%s): the first line does not say what it locks: %q", m.number, m.name, first)
			}
		}
	}
	files, err := fs.Glob(schema.FS, "*")
	if err != nil || len(files) != 2*len(all) {
		t.Errorf("%d migrations in %d files: %q (%v)", len(all), len(files), files, err)
	}
}

// Up one by one, down to nothing, and up again: each down file leaves exactly what its up file found.
func TestMigrationsGoUpDownAndUpAgain(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	conn := connect(t, testdb.Empty(t))
	apply := func(m migration, text string) {
		t.Helper()
		if _, err := conn.Exec(ctx, text); err != nil {
			t.Fatalf("migration %d (%s): %v", m.number, m.name, err)
		}
	}
	all := migrations(t)
	levels := []string{catalog(t, conn)} // levels[n] is the catalog with n migrations applied
	for _, m := range all {
		apply(m, m.up)
		levels = append(levels, catalog(t, conn))
		if levels[m.number] == levels[m.number-1] {
			t.Errorf("migration %d (%s) changes nothing that this test sees", m.number, m.name)
		}
	}
	for _, m := range slices.Backward(all) {
		apply(m, m.down)
		compare(t, m, "down", levels[m.number-1], catalog(t, conn))
	}
	for _, m := range all {
		apply(m, m.up)
		compare(t, m, "up again", levels[m.number], catalog(t, conn))
	}
}

func TestSchemaKnowsItsVersionAtEveryLevel(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	conn := connect(t, testdb.Empty(t))
	version := func() (n int) {
		t.Helper()
		if err := conn.QueryRow(ctx, "SELECT idem.schema_version()").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	all := migrations(t)
	for _, m := range all {
		if _, err := conn.Exec(ctx, m.up); err != nil {
			t.Fatal(err)
		}
		if got := version(); got != m.number {
			t.Errorf("after migration %d up (%s) schema_version() is %d", m.number, m.name, got)
		}
	}
	for _, m := range slices.Backward(all[1:]) {
		if _, err := conn.Exec(ctx, m.down); err != nil {
			t.Fatal(err)
		}
		if got := version(); got != m.number-1 {
			t.Errorf("after migration %d down (%s) schema_version() is %d", m.number, m.name, got)
		}
	}
}

func TestEverythingInTheSchemaHasAComment(t *testing.T) {
	t.Parallel()
	for _, object := range lines(t, connect(t, testdb.URL(t)), uncommentedSQL) {
		t.Errorf("%s has no COMMENT", object)
	}
}

func TestNoColumnIsATimeWithoutZone(t *testing.T) {
	t.Parallel()
	columns := lines(t, connect(t, testdb.URL(t)), `SELECT format('%s.%s', attrelid::regclass, attname)
		FROM pg_catalog.pg_attribute
		JOIN pg_catalog.pg_class ON pg_class.oid = attrelid AND relnamespace = 'idem'::regnamespace
		WHERE atttypid IN ('timestamp'::regtype, 'time'::regtype, 'timetz'::regtype)`)
	if len(columns) > 0 {
		t.Errorf("without time zone: %q", columns)
	}
}

// sqlc writes a file for each file of queries, and leaves one behind when its queries are gone.
func TestGenHoldsNothingButSqlcsFiles(t *testing.T) {
	t.Parallel()
	want := []string{"db.go", "models.go"}
	queries, err := filepath.Glob("queries/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range queries {
		want = append(want, filepath.Base(path)+".go")
	}
	entries, err := os.ReadDir("../gen")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !slices.Contains(want, e.Name()) {
			t.Errorf("gen/%s is not made from a file in sql/queries", e.Name())
		}
	}
	if len(entries) != len(want) {
		t.Errorf("gen holds %d files, want %q", len(entries), want)
	}
}

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

func catalog(t *testing.T, conn *pgx.Conn) string {
	t.Helper()
	return strings.Join(lines(t, conn, catalogSQL), "\n")
}

func lines(t *testing.T, conn *pgx.Conn, query string) []string {
	t.Helper()
	rows, _ := conn.Query(t.Context(), query)
	all, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// compare names the lines that only one of two catalogs has.
func compare(t *testing.T, m migration, way, want, got string) {
	t.Helper()
	wanted, found := strings.Split(want, "\n"), strings.Split(got, "\n")
	for _, line := range wanted {
		if !slices.Contains(found, line) {
			t.Errorf("migration %d (%s) %s: missing: %s", m.number, m.name, way, line)
		}
	}
	for _, line := range found {
		if !slices.Contains(wanted, line) {
			t.Errorf("migration %d (%s) %s: left over: %s", m.number, m.name, way, line)
		}
	}
}
