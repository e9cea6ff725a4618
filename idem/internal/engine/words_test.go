package engine

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/pgidem/pgidem/internal/testdb"
)

func TestEndOfTheTransactionIsFoundInAnyText(t *testing.T) {
	for _, sql := range []string{
		"COMMIT", "commit", "CoMmIt", "COMMIT;", "COMMIT WORK", "COMMIT AND CHAIN", "COMMIT PREPARED 'x'",
		"END", "END TRANSACTION", "ABORT", "ROLLBACK", "ROLLBACK;", "ROLLBACK WORK", "ROLLBACK TRANSACTION", "ROLLBACK AND CHAIN",
		"ROLLBACK PREPARED 'x'", "PREPARE TRANSACTION 'x'", "prepare\ttransaction 'x'",
		" \t\n\r\f\vCOMMIT", ";COMMIT", ";;; COMMIT", "-- a\nCOMMIT", "--\nCOMMIT", "-- a\rCOMMIT", "/**/COMMIT", "/* a */ COMMIT",
		"/* /* a */ */ COMMIT", "/*/**/*/COMMIT", "/* -- */ COMMIT", "/* ' */ COMMIT", "-- '\nCOMMIT", "-- /*\nCOMMIT",
		"COMMIT--", "COMMIT/**/", "ROLLBACK/* a */;",
		"SELECT 1; COMMIT", "SELECT 1;COMMIT;SELECT 2", "SELECT ';'; COMMIT", "SELECT 'it''s'; COMMIT", `SELECT ";"; COMMIT`, `SELECT """;"; COMMIT`,
		"SELECT $$;$$; COMMIT", "SELECT $a$ $$ ; $b$ $a$; COMMIT", "SELECT $1; COMMIT", "SELECT $1$2; COMMIT",
		`SELECT E'\''; COMMIT`, `SELECT e'\\'; COMMIT`, `SELECT 'a\'; COMMIT`, `SELECT E'''\''''; COMMIT`,
		"SELECT a$b; COMMIT", "SELECT a$$; COMMIT; SELECT b$$", "SELECT N'a'; COMMIT", "SELECT B'1'; COMMIT", "SELECT X'f'; COMMIT", "SELECT U&'a'; COMMIT",
		`SELECT U&"a"; COMMIT`, "SELECT 1 /* ; */; COMMIT", "SELECT 1 -- ;\n; COMMIT", "SAVEPOINT a; ROLLBACK TO a; COMMIT",
		"ROLLBACK TO a; ROLLBACK", "SELECT é; COMMIT", "SELECT $é$;$é$; COMMIT", "BEGIN; COMMIT", "E'a'; COMMIT", "'a'; COMMIT",
	} {
		if !endsTransaction(sql) {
			t.Errorf("%q ends the transaction, and was let through", sql)
		}
	}
}

func TestWhatOnlyLooksLikeAnEndIsLetThrough(t *testing.T) {
	for _, sql := range []string{
		"", " ", ";", "--", "-- COMMIT", "/* COMMIT */", "/* /* */ COMMIT */", "/* ; COMMIT", "-- ; COMMIT",
		"SELECT 1", "SELECT 'COMMIT'", "SELECT ';COMMIT'", "SELECT $$;COMMIT$$", "SELECT $a$;COMMIT;$$;COMMIT$a$", `SELECT 1 AS ";COMMIT"`,
		`SELECT E'\';COMMIT'`, "SELECT ''';COMMIT'", "SELECT CASE WHEN true THEN 1 END", "SELECT 1 AS commit", "COMMITTED", "COMMIT_LOG", "commit2",
		"ROLLBACK TO a", "ROLLBACK TO SAVEPOINT a", "rollback work to a", "ROLLBACK TRANSACTION TO SAVEPOINT a", "ROLLBACK /* a */ TO a", "ROLLBACK -- a\nTO a",
		"SAVEPOINT commit", "RELEASE SAVEPOINT commit", "PREPARE commit AS SELECT 1", "PREPARE transactions AS SELECT 1",
		"EXECUTE commit", "INSERT INTO commit VALUES (1)", "SELECT 1; SELECT 2; -- COMMIT", "BEGIN", "START TRANSACTION", "SET TRANSACTION READ ONLY",
		"DO $$ BEGIN PERFORM 1; END $$", "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1; SELECT 2'",
		"COMMENT ON TABLE a IS 'COMMIT'", "COPY a FROM STDIN", "éCOMMIT",
	} {
		if endsTransaction(sql) {
			t.Errorf("%q does not end the transaction, and was refused", sql)
		}
	}
}

func TestStatementsOfATextAreCounted(t *testing.T) {
	for _, sql := range []string{
		"SELECT 1", "SELECT 1;", " ; SELECT 1 ; ; -- a", "SELECT ';'", "SELECT $$;$$", `SELECT E'\';'`, `SELECT 1 AS ";"`, "SELECT 1 /* ; */", "SELECT 1 -- ;\n, 2",
		"WITH a AS (SELECT 1) SELECT * FROM a", "(SELECT 1)", "DO $$ BEGIN PERFORM 1; END $$", "'a'",
	} {
		if !isOneStatement(sql) {
			t.Errorf("%q is one statement, and was refused", sql)
		}
	}
	for _, sql := range []string{"", " ", ";", "-- a", "/* a; b */", "SELECT 1; SELECT 2", "SELECT 1;SELECT 2;", "SELECT $a$;$a$; SELECT 2", "SELECT 1; 'a'"} {
		if isOneStatement(sql) {
			t.Errorf("%q is not one statement, and was let through", sql)
		}
	}
}

// The server has the last word: no text that would end a transaction on it is let through, and no valid one that would not is
// refused.
func TestScannerAgreesWithTheServer(t *testing.T) {
	agrees := judge(t)
	blank := rapid.SampledFrom([]string{" ", "\n", "\t", "\r", "\f", "/* ' */", "/* /* ; */ \" */", "-- ; '\n", "-- $$\r", "/* COMMIT; */", "--\n"})
	value := rapid.SampledFrom([]string{
		"1", "'a'", "';'", "'it''s; COMMIT'", `'\'`, `E'\''`, `E'\\'`, `E'''\''''`, `E'it''s \'x'`, `e'\'; COMMIT; \''`, "$$;$$", "$a$; COMMIT; $$ $a$", "$$'$$", "$_1$\"$_1$",
		"N';'", "X'1f'", "B'1'", "U&'\\0061;'", "(SELECT 1)", "CASE WHEN true THEN 1 END", "'a'\n'b;'", "E'a'\n'\\';'", `'\'` + "\n'; COMMIT; '", "1 AS \";\"", `1 AS "a""; COMMIT"`, "1 AS a$b$c",
		"1 AS a$$", "2 - -1", "2 -(-1)", "2 /1", "2 */**/ 3", "$$", "'",
	})
	word := rapid.SampledFrom([]string{
		"SELECT", "SELECT", "SELECT", "COMMIT", "commit", "END", "ROLLBACK", "ABORT", "ROLLBACK TO s", "ROLLBACK WORK TO SAVEPOINT s", "SAVEPOINT s", "", "COMMIT WORK", "END TRANSACTION",
	})
	rapid.Check(t, func(r *rapid.T) {
		var b strings.Builder
		b.WriteString("SELECT 0")
		for range rapid.IntRange(1, 4).Draw(r, "statements") {
			b.WriteString(blank.Draw(r, "blank") + ";" + blank.Draw(r, "blank"))
			w := word.Draw(r, "word")
			b.WriteString(w + blank.Draw(r, "blank"))
			if w == "SELECT" {
				b.WriteString(value.Draw(r, "value"))
			}
		}
		agrees(r, b.String())
	})
}

// judge returns a function that runs a text within a transaction and compares what became of it with what the scanner says. What
// the text leaves behind where it commits, setup clears away.
func judge(t *testing.T, setup ...string) (agrees func(*rapid.T, string)) {
	conn, err := testdb.New(t).Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Release)
	exec := func(sql string) error { return conn.Conn().PgConn().Exec(t.Context(), sql).Close() }
	clean := false
	return func(r *rapid.T, sql string) {
		if !clean {
			for _, statement := range setup {
				if err := exec(statement); err != nil {
					r.Fatal(err)
				}
			}
		}
		if err := exec("BEGIN; SAVEPOINT outermost; SAVEPOINT s"); err != nil {
			r.Fatal(err)
		}
		err := exec(sql)
		ended := exec("ROLLBACK TO outermost") != nil // it is gone with its transaction, even where another has begun
		if err := exec("ROLLBACK"); err != nil {
			r.Fatal(err)
		}
		clean = !ended
		switch refused := endsTransaction(sql); {
		case ended && !refused:
			r.Fatalf("the server ended the transaction, and the scanner let it through: %q", sql)
		case !ended && err == nil && refused:
			r.Fatalf("the server did not end the transaction, and the scanner refused: %q", sql)
		}
	}
}

func FuzzScannerEndsWithAnAnswer(f *testing.F) {
	for _, seed := range []string{"COMMIT", "SELECT 'a", "/*", "$a$", "E'\\", "$", "\"", "-", "/", "\xff", "a$", "E'", routine, routine + ";END"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, sql string) {
		ends := endsTransaction(sql)
		if endsTransaction(" /* a */ "+sql) != ends {
			t.Errorf("%q: a comment before it changes the answer", sql)
		}
		if !endsTransaction("COMMIT;" + sql) {
			t.Errorf("%q hides the COMMIT before it", sql)
		}
		for _, before := range []string{
			"SELECT ';COMMIT' ; ", routine + ";", routine + " ; ; ", "SELECT 1 AS begin atomic;", "CREATE FUNCTION f(begin atomic) RETURNS int RETURN 1;",
		} {
			if ends && !endsTransaction(before+sql) {
				t.Errorf("%q: %q before it hides its end", sql, before)
			}
		}
	})
}
