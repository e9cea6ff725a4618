package testdb

import (
	"database/sql"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/jackc/pgx/v5"
	"github.com/peterldowns/pgtestdb"

	"github.com/pgidem/pgidem/sql/schema"
)

// files makes a file system of migrations.
func files(content map[string]string) fstest.MapFS {
	fsys := fstest.MapFS{}
	for name, text := range content {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return fsys
}

// migrate applies migrations to an empty database.
func migrate(t *testing.T, m Migrator) (*sql.DB, error) {
	t.Helper()
	db, err := sql.Open("pgx", Empty(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db, m.Migrate(t.Context(), db, pgtestdb.Config{})
}

func TestMigrationsAreAppliedByNumberAndRecorded(t *testing.T) {
	t.Parallel()
	db, err := migrate(t, Migrator{FS: files(map[string]string{
		"10_last.up.sql":     "INSERT INTO log VALUES ('ten')",
		"2_second.up.sql":    "INSERT INTO log VALUES ('two'); INSERT INTO log VALUES ('two again')",
		"000001_one.up.sql":  "CREATE TABLE log (line text, n serial); CREATE FUNCTION f() RETURNS int LANGUAGE sql AS $$SELECT 1; SELECT 2$$;",
		"2_second.down.sql":  "DROP TABLE log",
		"schema.go":          "package schema",
		"000001_one.down.md": "",
	})})
	if err != nil {
		t.Fatal(err)
	}
	var lines string
	if err := db.QueryRow("SELECT string_agg(line, ', ' ORDER BY n) FROM log").Scan(&lines); err != nil || lines != "two, two again, ten" {
		t.Errorf("applied %q (%v)", lines, err)
	}
	var rows, version int
	var dirty bool
	if err := db.QueryRow("SELECT count(*), max(version), bool_or(dirty) FROM idem_migrations").Scan(&rows, &version, &dirty); err != nil || rows != 1 || version != 10 || dirty {
		t.Errorf("%d rows, version %d, dirty %t (%v)", rows, version, dirty, err)
	}
}

func TestFailedMigrationNamesItsFile(t *testing.T) {
	t.Parallel()
	db, err := migrate(t, Migrator{FS: files(map[string]string{
		"1_good.up.sql": "CREATE TABLE good ()",
		"2_bad.up.sql":  "CREATE TABLE half (); SELECT nonsense",
	})})
	if err == nil || !strings.Contains(err.Error(), "2_bad.up.sql") || !strings.Contains(err.Error(), "nonsense") {
		t.Errorf("error %v", err)
	}
	if _, err := db.Exec("SELECT FROM good"); err != nil {
		t.Error(err)
	}
	if _, err := db.Exec("SELECT FROM half"); err == nil {
		t.Error("half of the failed migration is there")
	}
}

func TestMigrationWithoutANumberIsRefused(t *testing.T) {
	t.Parallel()
	if _, err := (Migrator{FS: files(map[string]string{"keys.up.sql": ""})}).Hash(); err == nil {
		t.Error("keys.up.sql is taken for a migration")
	}
}

func TestHashChangesWithTheSchema(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for claim, fsys := range map[string]fstest.MapFS{
		"one file":       files(map[string]string{"1_a.up.sql": "x"}),
		"other content":  files(map[string]string{"1_a.up.sql": "y"}),
		"other name":     files(map[string]string{"1_b.up.sql": "x"}),
		"a file more":    files(map[string]string{"1_a.up.sql": "x", "2_b.up.sql": ""}),
		"no file at all": files(nil),
	} {
		hash, err := Migrator{FS: fsys}.Hash()
		if err != nil {
			t.Fatal(err)
		}
		if other, ok := seen[hash]; ok {
			t.Errorf("%s has the hash of %s", claim, other)
		}
		seen[hash] = claim
	}
	up, _ := Migrator{FS: files(map[string]string{"1_a.up.sql": "x"})}.Hash()
	down, _ := Migrator{FS: files(map[string]string{"1_a.up.sql": "x", "1_a.down.sql": "z"})}.Hash()
	if up != down {
		t.Error("a down file changes the hash")
	}
}

// The schema's own migrations record their number twice.
func TestRecordedVersionIsTheSchemasOwn(t *testing.T) {
	t.Parallel()
	all, err := Migrator{FS: schema.FS}.migrations()
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), URL(t))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	var recorded int64
	if err := conn.QueryRow(t.Context(), "SELECT version FROM idem_migrations").Scan(&recorded); err != nil {
		t.Fatal(err)
	}
	if want := all[len(all)-1].version; recorded != want {
		t.Errorf("recorded %d, the last file is %d", recorded, want)
	}
}
