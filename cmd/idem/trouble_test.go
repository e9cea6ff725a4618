package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

func asPgError(err error, to **pgconn.PgError) bool { return errors.As(err, to) }

// failSecond brings a database to version 1 and puts something in the way of version 2, behind its first statements.
func failSecond(t *testing.T, db *testDatabase) {
	t.Helper()
	db.stock(t, "up", "1").want(t, 0)
	db.exec(t, "CREATE TABLE idem.steps (in_the_way integer)")
}

func TestFailedMigrationLeavesNothingHalfDoneAndNamesTheCure(t *testing.T) {
	t.Parallel()
	for name, cure := range map[string]func(*testDatabase, *testing.T, call){
		"by the stock CLI": (*testDatabase).cureByStock, "in SQL": (*testDatabase).cureBySQL,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := empty(t)
			failSecond(t, db)
			c := cli(t, db.url, "migrate", "up").want(t, 1, "idem: applying migration 2 steps failed",
				`relation "steps" already exists (SQLSTATE 42P07)`, "version 2 is dirty", "the schema is still at version 1", "force 1")
			if strings.Contains(c.err, "CREATE TABLE") {
				t.Error("the message repeats the file")
			}
			db.wantAt(t, "2 true", "1")

			for _, args := range [][]string{{"up"}, {"down"}, {"down", "--all", "--yes"}} {
				cli(t, db.url, append([]string{"migrate"}, args...)...).want(t, 1, "version 2 is dirty", "idem forces no version", "force 1")
				db.wantAt(t, "2 true", "1")
			}
			c = cli(t, db.url, "migrate", "version").want(t, 1, "2 (dirty)\n", "version 2 is dirty")

			db.exec(t, "DROP TABLE idem.steps")
			cure(db, t, c)
			db.wantAt(t, "1 false", "1")
			cli(t, db.url, "migrate", "up").want(t, 0, "schema idem is at version 5")
		})
	}
}

func TestFailedFirstMigrationIsCuredByNoVersion(t *testing.T) {
	t.Parallel()
	for name, cure := range map[string]func(*testDatabase, *testing.T, call){
		"by the stock CLI": (*testDatabase).cureByStock, "in SQL": (*testDatabase).cureBySQL,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := empty(t)
			db.exec(t, "CREATE TABLE idem_migrations (version bigint NOT NULL PRIMARY KEY, dirty boolean NOT NULL); INSERT INTO idem_migrations VALUES (1, true)")
			c := cli(t, db.url, "migrate", "up").want(t, 1, "version 1 is dirty", "there is no schema idem", "force -- -1")
			cure(db, t, c)
			cli(t, db.url, "migrate", "up").want(t, 0, "schema idem is at version 5")
		})
	}
}

func TestFailedDownIsCuredByTheVersionThatIsStillThere(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	db.exec(t, "CREATE VIEW public.wages AS SELECT NULL::idem.possible_key AS wage")
	c := cli(t, db.url, "migrate", "down").want(t, 1, "taking back migration 5 possible_key failed", "view wages depends",
		"version 4 is dirty", "the schema is still at version 5", "force 5")
	db.wantAt(t, "4 true", "5")
	db.exec(t, "DROP VIEW public.wages")
	db.cureByStock(t, c)
	cli(t, db.url, "migrate", "down").want(t, 0, "schema idem is at version 4")
}

// A client that was killed after the migration and before its record.
func TestUnrecordedEndIsRecordedAsItIs(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	db.exec(t, "UPDATE idem_migrations SET dirty = true")
	c := cli(t, db.url, "migrate", "up").want(t, 1, "version 5 is dirty", "was carried out, only its record is missing", "force 5")
	db.cureBySQL(t, c)
	cli(t, db.url, "migrate", "up").want(t, 0, "nothing to apply")
}

func TestNewerSchemaIsLeftAlone(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	db.exec(t, "UPDATE idem_migrations SET version = 6; CREATE OR REPLACE FUNCTION idem.schema_version() RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT 6'")
	for _, args := range [][]string{{"up"}, {"down"}, {"down", "--all", "--yes"}, {"version"}} {
		cli(t, db.url, append([]string{"migrate"}, args...)...).want(t, 1, "version 6, newer than this idem knows (5)", "idem --version says schema 6 or more")
		db.wantAt(t, "6 false", "6")
	}
}

func TestSchemaWithoutItsVersionTableNamesTheCure(t *testing.T) {
	t.Parallel()
	t.Run("it is in another schema", func(t *testing.T) {
		t.Parallel()
		db := migrated(t)
		db.exec(t, "CREATE SCHEMA elsewhere")
		url := db.url + "&search_path=elsewhere"
		for _, args := range [][]string{{"up"}, {"down"}, {"version"}} {
			cli(t, url, append([]string{"migrate"}, args...)...).want(t, 1, `schema "elsewhere"`, "holds no idem_migrations",
				`schema "public" holds one`, `PGOPTIONS='-c search_path="public"'`)
		}
		db.wantAt(t, "5 false", "5")
		if db.text(t, "to_regclass('elsewhere.idem_migrations') IS NULL") != "true" {
			t.Error("a second version table was made")
		}
		startWith(t, []string{"DATABASE_URL=" + db.url, `PGOPTIONS=-c search_path="public"`}, binary, "migrate", "version").
			wait(t).want(t, 0, "5\n")
	})
	t.Run("it is nowhere", func(t *testing.T) {
		t.Parallel()
		db := migrated(t)
		db.exec(t, "DROP TABLE idem_migrations")
		c := cli(t, db.url, "migrate", "up").want(t, 1, "holds no idem_migrations", "version 5", "force 5")
		db.wantAt(t, "none", "5")
		db.cureBySQL(t, c)
		cli(t, db.url, "migrate", "up").want(t, 0, "nothing to apply")
	})
	t.Run("it is empty", func(t *testing.T) {
		t.Parallel()
		db := migrated(t)
		db.exec(t, "TRUNCATE idem_migrations")
		c := cli(t, db.url, "migrate", "up").want(t, 1, "holds an empty idem_migrations", "force 5")
		db.wantAt(t, "", "5")
		db.cureByStock(t, c)
		cli(t, db.url, "migrate", "up").want(t, 0, "nothing to apply")
	})
	t.Run("the schema is not ours", func(t *testing.T) {
		t.Parallel()
		db := empty(t)
		db.exec(t, "CREATE SCHEMA idem; CREATE TABLE idem.mine ()")
		cli(t, db.url, "migrate", "up").want(t, 1, "no migration made it: rename or drop it")
		if db.record(t) != "none" {
			t.Error("a version table was made")
		}
	})
}

func TestRecordThatTheSchemaContradictsIsLeftAlone(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	db.exec(t, "DROP SCHEMA idem CASCADE")
	c := cli(t, db.url, "migrate", "up").want(t, 1, "says version 5, but there is no schema idem", "force -- -1")
	db.cureByStock(t, c)
	cli(t, db.url, "migrate", "up").want(t, 0, "schema idem is at version 5")

	db.exec(t, "UPDATE idem_migrations SET version = 2")
	c = cli(t, db.url, "migrate", "up").want(t, 1, "says version 2, but the schema itself (idem.schema_version()) says 5", "force 5")
	db.wantAt(t, "2 false", "5")
	db.cureBySQL(t, c)
	cli(t, db.url, "migrate", "up").want(t, 0, "nothing to apply")
}

func TestSearchPathThatLeadsNowhereIsSaid(t *testing.T) {
	t.Parallel()
	db := empty(t)
	cli(t, db.url+"&search_path=nowhere", "migrate", "up").want(t, 1, "search_path names no schema that exists")
	db.wantAt(t, "none", "0")
}

func TestRoleThatMayNotCreateTheSchemaDirtiesNothing(t *testing.T) {
	t.Parallel()
	db := empty(t)
	// The owner of a database may take the right from itself.
	db.exec(t, "DO $$BEGIN EXECUTE format('REVOKE CREATE ON DATABASE %I FROM %I', current_database(), current_user); END$$")
	cli(t, db.url, "migrate", "up").want(t, 1, "may not create schema idem: GRANT CREATE ON DATABASE")
	db.wantAt(t, "none", "0")
}

func TestReadOnlySessionDirtiesNothing(t *testing.T) {
	t.Parallel()
	db := empty(t)
	url := db.url + "&default_transaction_read_only=on"
	cli(t, url, "migrate", "up").want(t, 1, "read-only transaction")
	db.wantAt(t, "none", "0")
	db.stock(t, "up", "1").want(t, 0)
	cli(t, url, "migrate", "up").want(t, 1, "read-only transaction", "Nothing was changed: the schema is at version 1")
	db.wantAt(t, "1 false", "1")
}
