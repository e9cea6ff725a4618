package main

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/pgidem/pgidem/gen"
)

// versionTable is where golang-migrate records the version, in the current schema; every tool must name the same.
const versionTable = "idem_migrations"

// createTable is golang-migrate's own table.
func createTable(table string) string {
	return "CREATE TABLE IF NOT EXISTS " + table + " (version bigint NOT NULL PRIMARY KEY, dirty boolean NOT NULL);\n"
}

// recordVersion is what golang-migrate does to record a version; 0 is none.
func recordVersion(table string, version int) string {
	sql := "TRUNCATE " + table + ";\n"
	if version > 0 {
		sql += fmt.Sprintf("INSERT INTO %s (version, dirty) VALUES (%d, false);\n", table, version)
	}
	return sql
}

// readVersion reads the record. 0 is none.
func readVersion(ctx context.Context, db gen.DBTX, table string) (version int, dirty bool, err error) {
	rows, err := db.Query(ctx, "SELECT version::integer, dirty FROM "+table)
	if err != nil {
		return 0, false, err
	}
	_, err = pgx.ForEachRow(rows, []any{&version, &dirty}, func() error { return nil })
	return max(version, 0), dirty, err // golang-migrate writes -1 where the first migration is taken back
}
