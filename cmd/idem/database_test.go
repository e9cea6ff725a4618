package main

import (
	"context"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/pgidem/pgidem/internal/testdb"
)

// A database is one of the test's own and a session to look at it.
type testDatabase struct {
	url  string
	conn *pgx.Conn
}

// empty has no schema, migrated has the newest.
func empty(t *testing.T) *testDatabase    { t.Helper(); return newDatabase(t, testdb.Empty(t)) }
func migrated(t *testing.T) *testDatabase { t.Helper(); return newDatabase(t, testdb.URL(t)) }

func newDatabase(t *testing.T, url string) *testDatabase {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return &testDatabase{url, conn}
}

// exec runs statements as they are.
func (d *testDatabase) exec(t *testing.T, sql string) {
	t.Helper()
	if _, err := d.conn.Exec(t.Context(), sql); err != nil {
		t.Fatalf("%s: %s", sql, err)
	}
}

// text is the one value of a query, as text.
func (d *testDatabase) text(t *testing.T, sql string) string {
	t.Helper()
	var text string
	if err := d.conn.QueryRow(t.Context(), "SELECT ("+sql+")::text").Scan(&text); err != nil {
		t.Fatalf("%s: %s", sql, err)
	}
	return text
}

// record is what idem_migrations says, such as "3 false"; empty when it is empty, "none" when it is not there.
func (d *testDatabase) record(t *testing.T) string {
	t.Helper()
	if d.text(t, "to_regclass('idem_migrations') IS NULL") == "true" {
		return "none"
	}
	return d.text(t, "coalesce((SELECT string_agg(version || ' ' || dirty, ', ') FROM idem_migrations), '')")
}

// wantAt checks the record and the schema itself; 0 is no schema.
func (d *testDatabase) wantAt(t *testing.T, record string, actual string) {
	t.Helper()
	if got := d.record(t); got != record {
		t.Errorf("idem_migrations says %q, want %q", got, record)
	}
	got := "0"
	if d.text(t, "to_regnamespace('idem') IS NOT NULL") == "true" {
		got = d.text(t, "idem.schema_version()")
	}
	if got != actual {
		t.Errorf("the schema itself is at version %s, want %s", got, actual)
	}
}

// shape describes every column, constraint, index and function of schema idem, and the columns of the record.
func (d *testDatabase) shape(t *testing.T) string {
	t.Helper()
	return d.text(t, `
		SELECT string_agg(line, E'\n' ORDER BY line) FROM (
			SELECT format('%s.%s.%s %s %s', table_schema, table_name, column_name, data_type, is_nullable)
			FROM information_schema.columns WHERE table_schema = 'idem' OR table_name = 'idem_migrations'
			UNION ALL
			SELECT conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(oid)
			FROM pg_constraint WHERE connamespace = 'idem'::regnamespace AND contypid = 0 OR conrelid = 'idem_migrations'::regclass
			UNION ALL
			SELECT contypid::regtype || ' ' || conname || ' ' || pg_get_constraintdef(oid)
			FROM pg_constraint WHERE connamespace = 'idem'::regnamespace AND contypid <> 0
			UNION ALL
			SELECT indexdef FROM pg_indexes WHERE schemaname = 'idem'
			UNION ALL
			SELECT pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'idem'::regnamespace
		) AS all_lines (line)`)
}

// stock runs the stock migrate CLI on the database.
func (d *testDatabase) stock(t *testing.T, args ...string) call {
	t.Helper()
	args = append([]string{"-path", "../../sql/schema", "-database", d.stockURL(t)}, args...)
	return startWith(t, nil, stock, args...).wait(t)
}

func (d *testDatabase) stockURL(t *testing.T) string {
	t.Helper()
	u, err := url.Parse(d.url)
	if err != nil {
		t.Fatal(err)
	}
	u.Scheme = "pgx5"
	query := u.Query()
	query.Set("x-migrations-table", "idem_migrations")
	u.RawQuery = query.Encode()
	return u.String()
}

var (
	stockCure = regexp.MustCompile(`(?m)^    migrate -path sql/schema -database '[^']*' (force .*)$`)
	sqlCure   = regexp.MustCompile(`(?m)^    (BEGIN; .* COMMIT;)$`)
)

// cureByStock does what the message c says to do with the stock CLI.
func (d *testDatabase) cureByStock(t *testing.T, c call) {
	t.Helper()
	cure := stockCure.FindStringSubmatch(c.err)
	if cure == nil {
		t.Fatalf("no cure by the stock CLI in\n%s", c.err)
	}
	d.stock(t, strings.Fields(cure[1])...).want(t, 0)
}

// cureBySQL does what the message c says to do in SQL.
func (d *testDatabase) cureBySQL(t *testing.T, c call) {
	t.Helper()
	cure := sqlCure.FindStringSubmatch(c.err)
	if cure == nil {
		t.Fatalf("no cure in SQL in\n%s", c.err)
	}
	d.exec(t, cure[1])
}
