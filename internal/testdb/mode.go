package testdb

import (
	"fmt"
	"net/url"
	"os"
	"slices"
)

// modes are pgx's query exec modes, as PGIDEM_TEST_EXEC_MODE and pgx's
// parameter default_query_exec_mode spell them.
var modes = []string{"cache_statement", "cache_describe", "describe_exec", "exec", "simple_protocol"}

const modeParameter = "default_query_exec_mode"

// withMode puts the mode of PGIDEM_TEST_EXEC_MODE into a connection string
// that names none itself. While the variable is unset the string stays as it
// is, so that libpq's programs accept it too.
func withMode(connString string) (string, error) {
	mode := os.Getenv("PGIDEM_TEST_EXEC_MODE")
	if mode == "" {
		return connString, nil
	}
	if !slices.Contains(modes, mode) {
		return "", fmt.Errorf("testdb: PGIDEM_TEST_EXEC_MODE is %q; it must be one of %q", mode, modes)
	}
	u, err := url.Parse(connString)
	if err != nil {
		return "", fmt.Errorf("testdb: %w", err)
	}
	query := u.Query()
	if !query.Has(modeParameter) {
		query.Set(modeParameter, mode)
		u.RawQuery = query.Encode()
	}
	return u.String(), nil
}

// NoCoalescing reports whether PGIDEM_TEST_NO_COALESCING is set: then tests make
// Stores that send every claim, completion and heartbeat by itself.
func NoCoalescing() bool { return os.Getenv("PGIDEM_TEST_NO_COALESCING") != "" }
