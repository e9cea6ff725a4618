// Package sql holds what a database administrator reviews and runs; see roles.sql.
package sql

import _ "embed"

// Roles makes the roles idem_app, idem_sweep and idem_operator and grants each the least that it needs.
//
//go:embed roles.sql
var Roles string
