package main

import (
	"context"
	_ "embed"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/pgidem/pgidem/gen"
)

//go:embed state.sql
var stateSQL string

// A state is how a database stands to the migrations.
type state struct {
	Database, Role     string
	Current            string // schema that search_path leads to, where golang-migrate keeps its table; empty: none
	Standby, MayCreate bool
	HasSchema          bool // schema idem is there
	HasVersion         bool // idem.schema_version() is there
	Records            []string

	recorded int  // version in the current schema's table; 0: none
	dirty    bool // a migration began, and its end was not recorded
	actual   int  // idem.schema_version(), which each migration replaces; 0: there is none
}

func readState(ctx context.Context, db gen.DBTX) (state, error) {
	rows, err := db.Query(ctx, stateSQL, pgx.NamedArgs{"version_table": versionTable})
	if err != nil {
		return state{}, err
	}
	s, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByNameLax[state])
	if err != nil {
		return s, err
	}
	if s.hasRecord() {
		if s.recorded, s.dirty, err = readVersion(ctx, db, s.table()); err != nil {
			return s, fmt.Errorf("read %s: %w", s.table(), err)
		}
	}
	if s.HasVersion {
		version, err := gen.New().CheckVersion(ctx, db)
		if err != nil {
			return s, fmt.Errorf("role %q may not look into schema idem; migrate as the role that owns it: %w", s.Role, err)
		}
		s.actual = int(version)
	}
	return s, nil
}

// hasRecord: the table that golang-migrate would use is there, if perhaps empty.
func (s state) hasRecord() bool { return slices.Contains(s.Records, s.Current) }

// table is the qualified name of the version table.
func (s state) table() string { return pgx.Identifier{s.Current, versionTable}.Sanitize() }
