package testdb

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strconv"

	"github.com/peterldowns/pgtestdb"
)

// A Migrator brings an empty database to the newest migration in FS, and
// records it as golang-migrate does in table idem_migrations. It implements
// pgtestdb.Migrator.
type Migrator struct {
	FS fs.FS // golang-migrate files, 000001_name.up.sql, at its root
}

var upFile = regexp.MustCompile(`^([0-9]+)_.*\.up\.sql$`)

// a migration is one up file.
type migration struct {
	version int64
	name    string
	sql     string
}

// migrations are the up files in the order of their numbers.
func (m Migrator) migrations() ([]migration, error) {
	names, err := fs.Glob(m.FS, "*.up.sql")
	if err != nil {
		return nil, err
	}
	var all []migration
	for _, name := range names {
		match := upFile.FindStringSubmatch(name)
		if match == nil {
			return nil, fmt.Errorf("testdb: %s has no number", name)
		}
		version, err := strconv.ParseInt(match[1], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("testdb: %s: %w", name, err)
		}
		text, err := fs.ReadFile(m.FS, name)
		if err != nil {
			return nil, err
		}
		all = append(all, migration{version, name, string(text)})
	}
	slices.SortFunc(all, func(a, b migration) int { return cmp.Compare(a.version, b.version) })
	return all, nil
}

// Hash names the schema that Migrate makes: it changes with any up file.
func (m Migrator) Hash() (string, error) {
	all, err := m.migrations()
	if err != nil {
		return "", err
	}
	hash := sha256.New()
	for _, one := range all {
		fmt.Fprintf(hash, "%q %q\n", one.name, one.sql)
	}
	return hex.EncodeToString(hash.Sum(nil)[:16]), nil
}

// Migrate applies the up files in order, each in one round trip and hence one
// transaction, and records the version of the last.
func (m Migrator) Migrate(ctx context.Context, db *sql.DB, _ pgtestdb.Config) error {
	all, err := m.migrations()
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, `CREATE TABLE idem_migrations (version bigint NOT NULL PRIMARY KEY, dirty boolean NOT NULL)`)
	if err != nil {
		return fmt.Errorf("testdb: %w", err)
	}
	for _, one := range all {
		// Without arguments pgx sends the text as it is: many statements are welcome.
		if _, err := db.ExecContext(ctx, one.sql); err != nil {
			return fmt.Errorf("testdb: migration %s: %w", one.name, err)
		}
	}
	if len(all) > 0 {
		last := all[len(all)-1].version
		if _, err := db.ExecContext(ctx, `INSERT INTO idem_migrations (version, dirty) VALUES ($1, false)`, last); err != nil {
			return fmt.Errorf("testdb: %w", err)
		}
	}
	return nil
}
