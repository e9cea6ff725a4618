package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/pgidem/pgidem/internal/devpg"
)

// major is the version that makes the dump: the one of Debian 12, which a machine without PostgreSQL installs by itself.
const major = 15

// places are where systems keep the programs of that version when they are not on PATH.
var places = []string{
	fmt.Sprintf("/usr/lib/postgresql/%d/bin", major),
	fmt.Sprintf("/usr/pgsql-%d/bin", major),
	fmt.Sprintf("/opt/homebrew/opt/postgresql@%d/bin", major),
	fmt.Sprintf("/usr/local/opt/postgresql@%d/bin", major),
}

// find returns the directory of the pinned version's programs. On a machine without any PostgreSQL it installs the system's.
func find(ctx context.Context) (string, error) {
	if bin, ok := local(ctx); ok {
		return bin, nil
	}
	_, err := devpg.Finder{}.Find(ctx)
	if bin, ok := local(ctx); ok {
		return bin, nil
	}
	cure := fmt.Errorf("sql/schema.sql is made by PostgreSQL %d, whose pg_dump, initdb and postgres are not on this machine; run: apt-get install postgresql-%d (on other systems than Debian 12 first add the packages of apt.postgresql.org), or: brew install postgresql@%d", major, major, major)
	return "", errors.Join(cure, err)
}

func local(ctx context.Context) (string, bool) {
	dirs := places
	if path, err := exec.LookPath("pg_dump"); err == nil {
		dirs = append([]string{filepath.Dir(path)}, places...)
	}
	for _, dir := range dirs {
		if isPinned(ctx, dir, "pg_dump") && isPinned(ctx, dir, "postgres") && isPinned(ctx, dir, "initdb") {
			return dir, true
		}
	}
	return "", false
}

func isPinned(ctx context.Context, dir, program string) bool {
	version, err := exec.CommandContext(ctx, filepath.Join(dir, program), "--version").Output()
	return err == nil && strings.Contains(string(version), fmt.Sprintf("(PostgreSQL) %d.", major))
}
