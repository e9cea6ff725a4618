package sql_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A rule says what is wrong with a statement; nil when nothing is.
type rule func(statement) []string

var rules = map[string]rule{
	"FOR UPDATE names the tenant":        lockNamesTenant,
	"columns are named":                  columnsAreNamed,
	"tables are qualified":               tablesAreQualified,
	"the clock is statement_timestamp":   clockIsStatementTimestamp,
	"times have a zone":                  timesHaveZone,
	"random values come from the caller": randomIsTheCallers,
}

// A sharded table refuses a row lock that does not name the tenant.
func lockNamesTenant(s statement) []string {
	locks := s.has("for", "update") || s.has("for", "no", "key", "update") || s.has("for", "share") || s.has("for", "key", "share")
	if locks && !s.has("tenant_id", "=") {
		return []string{"a row lock without tenant_id ="}
	}
	return nil
}

// A column that a later migration adds must not change what a query returns.
func columnsAreNamed(s statement) []string {
	var wrong []string
	for _, i := range s.find("*") {
		if slices.Contains([]string{"select", "returning", "distinct", "all", ",", "."}, s.token(i-1)) {
			wrong = append(wrong, s.token(i-1)+" *")
		}
	}
	return wrong
}

// now() stands still in a long transaction; clock_timestamp() is volatile, which a sharded table refuses in an UPDATE.
func clockIsStatementTimestamp(s statement) []string {
	var wrong []string
	for _, name := range []string{"now", "clock_timestamp", "transaction_timestamp", "timeofday"} {
		if s.has(name, "(") {
			wrong = append(wrong, name+"()")
		}
	}
	for _, name := range []string{"current_timestamp", "current_time", "current_date", "localtimestamp", "localtime"} {
		if s.has(name) {
			wrong = append(wrong, name)
		}
	}
	return wrong
}

func timesHaveZone(s statement) []string {
	for _, i := range s.find("timestamp") {
		if s.token(i+1) != "with" {
			return []string{"timestamp without time zone"}
		}
	}
	return nil
}

// A random value made in the statement is volatile, and unknown to a caller whose answer was lost.
func randomIsTheCallers(s statement) []string {
	var wrong []string
	for _, name := range []string{"gen_random_uuid", "random", "uuidv4", "uuidv7"} {
		if s.has(name, "(") {
			wrong = append(wrong, name+"()")
		}
	}
	return wrong
}

// tablesAreQualified wants idem before every table: search_path is the user's. Names that the statement itself makes are free.
func tablesAreQualified(s statement) []string {
	var wrong []string
	for i, word := range s.tokens {
		switch before := s.token(i - 1); {
		case word == "from" && (before == "distinct" || s.inCall(i)): // IS DISTINCT FROM, extract(epoch FROM …)
		case word == "from", word == "join", word == "into", word == "references",
			word == "using" && s.token(i+1) != "(" && s.token(i+1) != literal && !s.has("create", "index"), // not JOIN … USING (…)
			word == "update" && before != "for" && before != "key" && before != "do" && before != "on":
			wrong = append(wrong, s.unqualified(i+1)...)
		}
	}
	return wrong
}

// inCall reports whether the token at i stands directly in the parentheses of a function that has FROM in its syntax.
func (s statement) inCall(i int) bool {
	depth := 0
	for i--; i >= 0; i-- {
		switch s.tokens[i] {
		case ")":
			depth++
		case "(":
			depth--
			if depth < 0 {
				return slices.Contains([]string{"extract", "substring", "trim", "overlay", "position"}, s.token(i-1))
			}
		}
	}
	return false
}

// unqualified reads the list of tables that begins at i.
func (s statement) unqualified(i int) []string {
	var wrong []string
	for {
		for slices.Contains([]string{"only", "lateral"}, s.token(i)) {
			i++
		}
		switch name := s.token(i); {
		case name == "(":
			i = s.closing(i) + 1
		case name == "rows" && s.token(i+1) == "from":
			i = s.closing(i+2) + 1
		case s.token(i+1) == ".":
			if name != "idem" && name != "pg_catalog" {
				wrong = append(wrong, name+"."+s.token(i+2))
			}
			i += 3
		case s.token(i+1) == "(" && !slices.Contains([]string{"into", "references"}, s.token(i-1)): // a function
			i = s.closing(i+1) + 1
		default:
			if !s.makes(name) {
				wrong = append(wrong, name)
			}
			i++
		}
		if s.token(i) == "as" {
			i += 2
			if s.token(i) == "(" { // the alias's columns
				i = s.closing(i) + 1
			}
		} else if s.token(i) != "," && s.token(i) != ")" && s.token(i+1) == "," {
			i++ // an alias without AS
		}
		if s.token(i) != "," {
			return wrong
		}
		i++
	}
}

// makes reports whether the statement's WITH defines name.
func (s statement) makes(name string) bool {
	for _, i := range s.find(name, "as") {
		after := s.token(i + 2)
		before := s.token(i - 1)
		opens := after == "(" || after == "materialized" || after == "not"
		if opens && slices.Contains([]string{"with", "recursive", ","}, before) {
			return true
		}
	}
	return false
}

// files returns the statements of all SQL files that match a pattern.
func files(t *testing.T, pattern string) map[string][]statement {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("no file matches %s (%v)", pattern, err)
	}
	all := map[string][]statement{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all[path] = split(string(text))
	}
	return all
}

func TestEveryStatementKeepsTheRules(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{"queries/*.sql", "schema/*.sql"} {
		for path, statements := range files(t, pattern) {
			for _, s := range statements {
				for name, rule := range rules {
					for _, wrong := range rule(s) {
						t.Errorf("%s:%d: %s: %s", path, s.line, name, wrong)
					}
				}
			}
		}
	}
}

// The rules themselves: each statement breaks the rule named beside it, or none.
func TestRulesFindWhatTheyAreFor(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"SELECT key FROM idem.keys WHERE key = @key FOR UPDATE":                                       "FOR UPDATE names the tenant",
		"SELECT key FROM idem.keys FOR NO KEY UPDATE SKIP LOCKED":                                     "FOR UPDATE names the tenant",
		"SELECT key FROM idem.keys WHERE tenant_id = @tenant_id FOR UPDATE":                           "",
		"SELECT * FROM idem.keys":                                                                     "columns are named",
		"SELECT k.* FROM idem.keys AS k":                                                              "columns are named",
		"DELETE FROM idem.keys RETURNING *":                                                           "columns are named",
		"SELECT count(*), 2 * 3 FROM idem.keys":                                                       "",
		"SELECT key FROM keys":                                                                        "tables are qualified",
		"SELECT key FROM public.keys":                                                                 "tables are qualified",
		"SELECT 1 FROM (SELECT 1 FROM steps) AS s":                                                    "tables are qualified",
		"SELECT 1 FROM idem.keys k, steps":                                                            "tables are qualified",
		"SELECT (SELECT 1 FROM idem.keys), keys":                                                      "",
		"SELECT 1 FROM idem.keys AS k, steps":                                                         "tables are qualified",
		"SELECT 1 FROM idem.keys AS k JOIN steps AS s ON true":                                        "tables are qualified",
		"UPDATE keys SET key = ''":                                                                    "tables are qualified",
		"INSERT INTO keys (key) VALUES ('')":                                                          "tables are qualified",
		"DELETE FROM idem.steps USING keys WHERE true":                                                "tables are qualified",
		"WITH a AS (SELECT 1 FROM keys) SELECT 1 FROM a":                                              "tables are qualified",
		"WITH a AS (SELECT 1), b AS NOT MATERIALIZED (SELECT 2) SELECT 1 FROM a, b":                   "",
		"SELECT extract(epoch FROM statement_timestamp()) FROM (VALUES (1)) AS v (a), idem.keys AS k": "",
		"SELECT 1 FROM ROWS FROM (unnest(@a::text[]), unnest(@b::text[])) AS t (a, b), keys":          "tables are qualified",
		"SELECT 1 FROM unnest(@a::text[]) AS t (a) WHERE t.a IS DISTINCT FROM b":                      "",
		"INSERT INTO idem.keys (key) VALUES ('') ON CONFLICT DO UPDATE SET key = ''":                  "",
		"CREATE TABLE idem.a (b integer REFERENCES keys)":                                             "tables are qualified",
		"SELECT now()":                                   "the clock is statement_timestamp",
		"SELECT CURRENT_TIMESTAMP":                       "the clock is statement_timestamp",
		"SELECT clock_timestamp ()":                      "the clock is statement_timestamp",
		"SELECT statement_timestamp() AS now -- now()":   "",
		"SELECT 'now()', $$now()$$, $q$ ; now() $q$, $1": "",
		"SELECT gen_random_uuid()":                       "random values come from the caller",
		"SELECT @at::timestamp":                          "times have a zone",
		"SELECT @at::timestamp with time zone":           "",
	} {
		var broken []string
		statements := split(text)
		if len(statements) != 1 {
			t.Errorf("%s: %d statements", text, len(statements))
		}
		for name, rule := range rules {
			if rule(statements[0]) != nil {
				broken = append(broken, name)
			}
		}
		if got := strings.Join(broken, ", "); got != want {
			t.Errorf("%s\n\tbreaks %q, want %q", text, got, want)
		}
	}
}

func TestStatementsAreSplitAtSemicolons(t *testing.T) {
	t.Parallel()
	got := split("-- one; two\nSELECT ';' /* ; */, $$ ; $$, \"a;b\";\n\nSELECT 2;\n")
	if want := "[{2 [select '' , '' , a;b]} {4 [select 2]}]"; fmt.Sprint(got) != want {
		t.Errorf("%v, want %s", got, want)
	}
}
