package main

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5"
)

// cure is how an operator records a version by hand: with the stock migrate CLI, or in SQL. 0 is none.
func (s state) cure(version int) string {
	forced := fmt.Sprint(version)
	if version == 0 {
		forced = "-- -1" // the stock CLI takes a bare -1 for a flag
	}
	sql := recordVersion(s.table(), version)
	if !s.hasRecord() {
		sql = createTable(s.table()) + sql
	}
	sql = "BEGIN; " + strings.ReplaceAll(sql, "\n", " ") + "COMMIT;"
	address := url.URL{Scheme: "pgx5", Host: "...", Path: "/" + s.Database}
	return fmt.Sprintf("    migrate -path sql/schema -database '%s?x-migrations-table=%s' force %s\nor in SQL\n    %s",
		&address, versionTable, forced, sql)
}

// quoted is an identifier as SQL wants it.
func quoted(name string) string { return pgx.Identifier{name}.Sanitize() }
