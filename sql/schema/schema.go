// Package schema holds the migrations of schema idem as numbered golang-migrate files, embedded.
//
// The stock migrate CLI applies them from the directory; the idem CLI and tests apply FS. Nothing here runs them: the
// library never migrates.
package schema

import "embed"

// FS holds the files 000001_keys.up.sql, 000001_keys.down.sql and so on at its root.
//
//go:embed *.sql
var FS embed.FS
