package engine

import (
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// routine is a definition whose body ends with END.
const routine = "CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT 1; END"

func TestBodyOfARoutineEndsNoTransaction(t *testing.T) {
	for _, sql := range []string{
		routine, routine + ";", routine + "; SELECT 1", routine + ";" + routine,
		"create or replace function f() returns int begin atomic select 1; end",
		"CREATE PROCEDURE p() BEGIN ATOMIC INSERT INTO a VALUES (1); DELETE FROM b; END;",
		"CREATE OR REPLACE PROCEDURE p() LANGUAGE sql BEGIN ATOMIC END",
		"CREATE/**/FUNCTION/**/f()RETURNS int BEGIN/**/ATOMIC/**/SELECT 1;/**/END", "CREATE FUNCTION f() RETURNS int BEGIN -- ;\n ATOMIC\nSELECT 1;END",
		"CREATE FUNCTION f() RETURNS int BEGIN ATOMIC;;; SELECT 1; ; END",
		"CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT CASE WHEN true THEN CASE WHEN true THEN 1 END END; SELECT a.end FROM (SELECT 1 AS end) AS a; END",
		"CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT 1 end; END", "CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT 'END', $$;END;$$, \";END\" /* ;END */; END",
		"CREATE FUNCTION begin(begin int, atomic int) RETURNS int SET search_path = begin BEGIN ATOMIC SELECT atomic; END",
		"CREATE FUNCTION f(a begin, b atomic) RETURNS int LANGUAGE sql RETURN 1", "CREATE FUNCTION \"f\"() RETURNS TABLE (begin atomic) BEGIN ATOMIC SELECT 1; END",
		"SAVEPOINT s; " + routine + "; ROLLBACK TO s",
	} {
		if endsTransaction(sql) {
			t.Errorf("%q does not end the transaction, and was refused", sql)
		}
	}
}

func TestEndOfTheTransactionIsFoundAroundRoutines(t *testing.T) {
	for _, sql := range []string{
		// behind a body
		routine + "; COMMIT", routine + "; END", routine + ";END;", routine + "; END TRANSACTION", routine + "; ROLLBACK", routine + ";" + routine + "; END",
		"CREATE FUNCTION f() RETURNS int BEGIN ATOMIC END; END", "CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT CASE WHEN true THEN 1 END; END; END",
		"CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT 1 AS begin; END; COMMIT", "CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT 1 AS case; END; END",
		// in one: no such routine can be made
		"CREATE FUNCTION f() RETURNS int BEGIN ATOMIC COMMIT; END", "CREATE PROCEDURE p() BEGIN ATOMIC SELECT 1; ROLLBACK; END", "CREATE PROCEDURE p() BEGIN ATOMIC ABORT; END",
		"CREATE PROCEDURE p() BEGIN ATOMIC " + routine + "; END; END",
		// no body: it begins in a definition of a routine alone, and outside parentheses and quotes
		"SELECT 1 AS begin atomic; COMMIT", "SELECT 1 AS begin atomic; END", "SELECT 1 AS begin, 2 AS atomic; END", "BEGIN ATOMIC; END", "BEGIN; END", "begin atomic select 1; end",
		"CREATE FUNCTION f(begin atomic) RETURNS int LANGUAGE sql AS 'SELECT 1'; END", "CREATE FUNCTION f(begin atomic) RETURNS int RETURN 1; END",
		"CREATE FUNCTION f() RETURNS TABLE (begin atomic) LANGUAGE sql AS 'SELECT 1'; END", "CREATE FUNCTION f() RETURNS int AS 'BEGIN ATOMIC' LANGUAGE sql; END",
		"CREATE FUNCTION f() RETURNS int AS $$ BEGIN ATOMIC $$ LANGUAGE sql; END", "CREATE FUNCTION f() RETURNS int /* BEGIN ATOMIC */ RETURN 1; END",
		"CREATE FUNCTION f() RETURNS int -- BEGIN ATOMIC\nRETURN 1; END", "CREATE FUNCTION \"begin atomic\"() RETURNS int RETURN 1; END", "CREATE FUNCTION \"begin\".atomic() RETURNS int RETURN 1; END",
		"CREATE FUNCTION begin.atomic() RETURNS int RETURN 1; END", "CREATE FUNCTION begin$.atomic() RETURNS int RETURN 1; END", "CREATE FUNCTION f() RETURNS int SET search_path = begin, atomic RETURN 1; END",
		"CREATE FUNCTION f() RETURNS begin RETURN 1; SELECT atomic; END", "CREATE FUNCTION f() RETURNS begin; ATOMIC; END",
		"CREATE VIEW begin AS SELECT 1 AS begin atomic; END", "CREATE TABLE a (begin atomic); END", "CREATE AGGREGATE f(begin atomic) (sfunc = a); END", "CREATE OR REPLACE VIEW begin AS SELECT 1; END",
		"CREATE SCHEMA a CREATE FUNCTION f() BEGIN ATOMIC SELECT 1; END", "ALTER FUNCTION f() BEGIN ATOMIC; END", "DROP FUNCTION f; END", "CREATE; FUNCTION f() BEGIN ATOMIC SELECT 1; END",
		"\"CREATE\" FUNCTION f() BEGIN ATOMIC SELECT 1; END", "CREATE \"FUNCTION\" f() BEGIN ATOMIC SELECT 1; END", "CREATE OR FUNCTION f() BEGIN ATOMIC SELECT 1; END", "CREATE ROUTINE f() BEGIN ATOMIC SELECT 1; END",
		"DO $$ CREATE FUNCTION $$; BEGIN ATOMIC; END",
	} {
		if !endsTransaction(sql) {
			t.Errorf("%q ends the transaction, and was let through", sql)
		}
	}
}

// The server has the last word here too, over texts of routines that are right or nearly right: no text that would end a
// transaction on it is let through, and no valid one that would not is refused.
func TestScannerAgreesWithTheServerAboutRoutines(t *testing.T) {
	// Types by these names, so that a parameter, a column or a result may be called what opens a body.
	agrees := judge(t, "DISCARD TEMP", "SET search_path = pg_temp", "CREATE DOMAIN atomic AS int", "CREATE DOMAIN begin AS int", "SET check_function_bodies = off")
	one := func(r *rapid.T, texts ...string) string { return rapid.SampledFrom(texts).Draw(r, "part") }
	body := func(r *rapid.T) (parts []string) {
		parts = append(parts, one(r, " BEGIN ATOMIC ", " begin\natomic ", " BEGIN/**/ATOMIC ", " BEGIN -- ;\n ATOMIC "))
		for range rapid.IntRange(0, 3).Draw(r, "statements") {
			parts = append(parts, one(r,
				"SELECT 1; ", "SELECT 1 AS end; ", "SELECT 1 begin; ", "SELECT 1 AS begin, 2 AS atomic; ", "SELECT CASE WHEN true THEN 1 END; ", "; ", "SELECT ';END;'; ", "SELECT $$;END;$$; ",
				"SELECT CASE WHEN true THEN CASE 1 WHEN 1 THEN 1 END END; ", "SELECT 1 AS \";END\"; ", "SELECT a.end FROM (SELECT 1 AS end) AS a; ", "SELECT (SELECT 1 end); ", "/* END; */ SELECT 1; ",
			))
		}
		return append(parts, one(r, "END", "END", "end", "/**/END"))
	}
	definition := func(r *rapid.T, unique string) (parts []string) {
		option := func() {
			parts = append(parts, one(r, "", "", " STABLE", " SET search_path = begin", " SET search_path = begin, atomic", " /* BEGIN ATOMIC */", " -- BEGIN ATOMIC\n"))
		}
		if rapid.IntRange(0, 3).Draw(r, "kind") == 0 {
			parts = append(parts, one(r, "CREATE PROCEDURE", "CREATE OR REPLACE PROCEDURE"), " p"+unique+one(r, "()", "(begin atomic)"))
			return append(parts, body(r)...)
		}
		parts = append(parts,
			one(r, "CREATE FUNCTION", "CREATE OR REPLACE FUNCTION", "create function", "CREATE /* ; */ FUNCTION"),
			one(r, " f"+unique, " begin"+unique, " atomic"+unique, ` "begin atomic `+unique+`"`, " pg_temp.begin", " atomic$"+unique),
			one(r, "()", "(begin atomic)", "(a int DEFAULT 1)", "(begin begin)", "(a int[], atomic begin)"),
			one(r, " RETURNS int", " RETURNS begin", " RETURNS atomic", " RETURNS TABLE (begin atomic)", " RETURNS SETOF atomic", " RETURNS int[]"))
		option()
		switch rapid.IntRange(0, 3).Draw(r, "body") {
		case 0:
			return append(parts, one(r, " RETURN 1", " AS 'SELECT 1' LANGUAGE sql", " LANGUAGE sql AS $$ SELECT 1; $$"))
		case 1:
			option()
		}
		return append(parts, body(r)...)
	}
	rapid.Check(t, func(r *rapid.T) {
		var parts []string
		for i := range rapid.IntRange(1, 3).Draw(r, "definitions") {
			parts = append(append(parts, definition(r, strconv.Itoa(i))...), one(r, ";", "; ", ";;", "; SELECT 1;", "; SELECT 1 AS begin; ", "; ROLLBACK TO s;"),
				one(r, "", "", "", "END;", "COMMIT;", "; end AND CHAIN;", "ROLLBACK;"))
		}
		for range rapid.SampledFrom([]int{0, 0, 0, 1, 1, 2}).Draw(r, "mistakes") {
			at := rapid.IntRange(0, len(parts)-1).Draw(r, "at")
			parts[at] = one(r, "", " ", parts[at]+" END", parts[at]+";", parts[at]+" END;", " BEGIN ATOMIC ", " begin atomic", " ATOMIC", " ( ", " ) ", " '", " CREATE FUNCTION", " COMMIT; ", routine)
		}
		agrees(r, strings.Join(parts, ""))
	})
}
