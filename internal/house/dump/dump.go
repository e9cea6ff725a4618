package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/pgidem/pgidem/internal/devpg"
	"github.com/pgidem/pgidem/internal/house"
)

// dump migrates a database on a server of its own and dumps it. Server and pg_dump are of one pinned major version, because
// both spell a schema differently from major to major.
func dump(ctx context.Context) ([]byte, error) {
	bin, err := find(ctx)
	if err != nil {
		return nil, err
	}
	server, err := devpg.Start(ctx, devpg.Options{Bin: bin})
	if err != nil {
		return nil, err
	}
	defer server.Stop()
	if err := house.Migrate(ctx, server.URL()); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, filepath.Join(bin, "pg_dump"),
		"--schema-only", "--schema=idem", "--no-owner", "--no-privileges", server.URL())
	cmd.Env = neutral(os.Environ())
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	text, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("pg_dump: %w\n%s", err, complaint.Bytes())
	}
	return []byte(tidy(string(text))), nil
}

// neutral leaves out the variables that would change pg_dump's connection or language.
func neutral(environ []string) []string {
	var kept []string
	for _, v := range environ {
		if !strings.HasPrefix(v, "PG") && !strings.HasPrefix(v, "LC_") && !strings.HasPrefix(v, "LANG") {
			kept = append(kept, v)
		}
	}
	return append(kept, "LC_ALL=C")
}

const head = "-- Schema idem as the migrations in sql/schema leave it, for reading. Made by make generate; do not edit.\n\n"

var (
	// noise is what differs between two runs or two minor versions (the versions named at the top; \restrict and \unrestrict,
	// which hold a random key in newer minors and do not exist in older ones) and what says nothing about the schema.
	noise = regexp.MustCompile(`(?m)^(\\(un)?restrict .*|-- (Dumped|PostgreSQL database dump).*|--|-- Name: .*; Type: COMMENT;.*|SET [a-z_]+ = [^;]*;|SELECT pg_catalog\.set_config.*)\n`)
	gaps  = regexp.MustCompile(`\n{3,}`)
	// between is the empty line between two comments on the same table.
	between = regexp.MustCompile(`(?m)^(COMMENT ON .*;\n)\n(COMMENT ON )`)
)

func tidy(dump string) string {
	dump = noise.ReplaceAllString(dump, "")
	dump = gaps.ReplaceAllString(dump, "\n\n")
	for between.MatchString(dump) {
		dump = between.ReplaceAllString(dump, "$1$2")
	}
	return head + strings.TrimSpace(dump) + "\n"
}
