package sql_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pgidem/pgidem/internal/testdb"
)

// columns are SQL expressions for the columns of a row of idem.keys.
type columns map[string]string

func (c columns) with(changes columns) columns {
	all := maps.Clone(c)
	maps.Copy(all, changes)
	return all
}

// insert is the statement that writes the row.
func (c columns) insert() string {
	names := slices.Sorted(maps.Keys(c))
	var values []string
	for _, name := range names {
		values = append(values, c[name])
	}
	return fmt.Sprintf("INSERT INTO idem.keys (%s) VALUES (%s)", strings.Join(names, ", "), strings.Join(values, ", "))
}

// update is the statement that makes the row of one that stands.
func (c columns) update() string {
	var sets []string
	for _, name := range slices.Sorted(maps.Keys(c)) {
		sets = append(sets, name+" = "+c[name])
	}
	return "UPDATE idem.keys SET " + strings.Join(sets, ", ")
}

var inFlight = columns{
	"fence": "1", "claimed_at": "statement_timestamp()", "locked_until": "statement_timestamp()", "created_at": "statement_timestamp()",
	"completed_at": "NULL", "expires_at": "statement_timestamp()", "claim_id": "'11111111-1111-1111-1111-111111111111'", "attempts": "1",
	"response_status": "NULL", "leased": "false", "tenant_id": "'t'", "endpoint": "'POST /x'", "key": "'k'", "status": "'in_flight'",
	"fingerprint": `'\x00'`, "handler": "NULL", "request": "NULL", "response_header": "NULL", "response_body": "NULL", "provider_ref": "NULL",
}

// life holds the states that a row may be in.
var life = map[string]columns{
	"in flight":           inFlight,
	"in flight, leased":   inFlight.with(columns{"leased": "true"}),
	"released":            inFlight.with(columns{"status": "'released'", "locked_until": "NULL"}),
	"released with steps": inFlight.with(columns{"status": "'released'", "locked_until": "NULL", "leased": "true"}),
	"committed":           finished("committed"),
	"failed":              finished("failed"),
	"without a body":      finished("committed").with(columns{"response_body": "NULL"}),
	"without a status":    finished("committed").with(columns{"response_status": "0"}),
	"of the longest": finished("failed").with(columns{"tenant_id": "repeat('ü', 127)", "endpoint": "repeat('e', 1024)", "key": "repeat('k', 255)",
		"fingerprint": "convert_to(repeat('f', 65), 'UTF8')", "response_status": "999", "request": "convert_to(repeat(md5('1'), 1000), 'UTF8')"}),
}

func finished(status string) columns {
	return inFlight.with(columns{"status": "'" + status + "'", "locked_until": "NULL", "completed_at": "statement_timestamp()",
		"response_status": "201", "response_header": "''", "response_body": "''"})
}

// broken holds what makes every one of these states impossible, and the rule that says so.
var broken = []struct {
	states  []string // nil: all
	change  columns
	code    string
	because string
}{
	{nil, columns{"tenant_id": "''"}, "23514", "tenant_id_is_1_to_255_bytes"},
	{nil, columns{"tenant_id": "repeat('ü', 128)"}, "23514", "tenant_id_is_1_to_255_bytes"},
	{nil, columns{"endpoint": "''"}, "23514", "endpoint_is_1_to_1024_bytes"},
	{nil, columns{"endpoint": "repeat('e', 1025)"}, "23514", "endpoint_is_1_to_1024_bytes"},
	{nil, columns{"key": "''"}, "23514", "key_is_1_to_255_bytes"},
	{nil, columns{"key": "repeat('k', 256)"}, "23514", "key_is_1_to_255_bytes"},
	{nil, columns{"fingerprint": "''"}, "23514", "fingerprint_has_a_version"},
	{nil, columns{"fingerprint": "convert_to(repeat('f', 66), 'UTF8')"}, "23514", "fingerprint_has_a_version"},
	{nil, columns{"fence": "0"}, "23514", "fence_is_positive"},
	{nil, columns{"fence": "-1"}, "23514", "fence_is_positive"},
	{nil, columns{"attempts": "0"}, "23514", "attempts_are_counted"},
	{nil, columns{"status": "'done'"}, "23514", ""}, // and whatever else the state then breaks
	{nil, columns{"status": "''"}, "23514", ""},
	{nil, columns{"status": "NULL"}, "23502", ""},
	{nil, columns{"leased": "NULL"}, "23502", ""},
	{nil, columns{"fence": "NULL"}, "23502", ""},
	{nil, columns{"attempts": "NULL"}, "23502", ""},
	{nil, columns{"key": "NULL"}, "23502", ""},
	{nil, columns{"fingerprint": "NULL"}, "23502", ""},
	{[]string{"released"}, columns{"status": "'done'"}, "23514", "status_is_known"},
	{[]string{"in flight", "in flight, leased"}, columns{"locked_until": "NULL"}, "23514", "only_a_key_in_flight_has_a_lease"},
	{[]string{"released", "released with steps", "committed", "failed"}, columns{"locked_until": "statement_timestamp()"}, "23514", "only_a_key_in_flight_has_a_lease"},
	{[]string{"in flight", "in flight, leased", "released"}, columns{"completed_at": "statement_timestamp()"}, "23514", ""},
	{[]string{"in flight", "released"}, columns{"completed_at": "statement_timestamp()", "response_status": "200", "response_header": "''"}, "23514", "only_a_finished_key_has_completed"},
	{[]string{"committed", "failed"}, columns{"completed_at": "NULL"}, "23514", ""},
	{[]string{"committed", "failed"}, columns{"completed_at": "NULL", "response_status": "NULL", "response_header": "NULL", "response_body": "NULL"}, "23514", "only_a_finished_key_has_completed"},
	{[]string{"committed", "failed", "without a body"}, columns{"leased": "true"}, "23514", "a_finished_key_is_not_leased"},
	{[]string{"committed", "failed", "without a body"}, columns{"response_status": "NULL"}, "23514", "a_finished_key_has_an_answer"},
	{[]string{"committed", "failed", "without a body"}, columns{"response_header": "NULL"}, "23514", "a_finished_key_has_an_answer"},
	{[]string{"in flight", "in flight, leased", "released", "released with steps"}, columns{"response_status": "200"}, "23514", "a_finished_key_has_an_answer"},
	{[]string{"in flight", "in flight, leased", "released", "released with steps"}, columns{"response_header": "''"}, "23514", "a_finished_key_has_an_answer"},
	{[]string{"in flight", "in flight, leased", "released", "released with steps"}, columns{"response_body": "''"}, "23514", "only_a_finished_key_has_a_body"},
	{[]string{"committed", "failed"}, columns{"response_status": "-1"}, "23514", "response_status_has_three_digits"},
	{[]string{"committed", "failed"}, columns{"response_status": "1000"}, "23514", "response_status_has_three_digits"},
}

func TestImpossibleKeysAreRefusedByTheRuleTheyBreak(t *testing.T) {
	t.Parallel()
	conn := connect(t, testdb.URL(t))
	for name, row := range life {
		if _, err := conn.Exec(t.Context(), row.insert()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := conn.Exec(t.Context(), row.update()); err != nil {
			t.Errorf("%s, written again: %v", name, err)
		}
		for _, b := range broken {
			if b.states != nil && !slices.Contains(b.states, name) {
				continue
			}
			changed := row.with(b.change)
			for how, statement := range map[string]string{"inserted": changed.with(columns{"endpoint": other(changed["endpoint"])}).insert(), "updated": changed.update()} {
				var refusal *pgconn.PgError
				if _, err := conn.Exec(t.Context(), statement); !errors.As(err, &refusal) || refusal.Code != b.code || b.because != "" && refusal.ConstraintName != b.because {
					t.Errorf("%s with %v %s: got %v, want %s %s", name, b.change, how, err, b.code, b.because)
				}
			}
		}
		if _, err := conn.Exec(t.Context(), "DELETE FROM idem.keys"); err != nil {
			t.Fatal(err)
		}
	}
}

// other is an endpoint beside the one that a row stands under, unless its length is what matters.
func other(endpoint string) string {
	if endpoint == "'POST /x'" {
		return "'POST /y'"
	}
	return endpoint
}

// Every state with every column there or not: versions 4 and 5 refuse the same ones, by the same rule.
func TestConstraintsOnADomainRefuseWhatThoseOnTheTableDid(t *testing.T) {
	t.Parallel()
	conn := connect(t, testdb.Empty(t))
	all := migrations(t)
	for _, m := range all[:4] {
		if _, err := conn.Exec(t.Context(), m.up); err != nil {
			t.Fatal(err)
		}
	}
	before := verdicts(t, conn)
	if _, err := conn.Exec(t.Context(), all[4].up); err != nil {
		t.Fatal(err)
	}
	after := verdicts(t, conn)
	allowed := 0
	for statement, want := range before {
		if after[statement] != want {
			t.Errorf("%s: %q before, %q after", statement, want, after[statement])
		}
		if want == "" {
			allowed++
		}
	}
	// in flight and released, leased or not; two ways to be finished, with a body or without
	if len(before) != 320 || allowed != 2*2+2*2 {
		t.Errorf("%d of %d states are allowed, want 8 of 320", allowed, len(before))
	}
}

// verdicts tries 320 states: none stays.
func verdicts(t *testing.T, conn *pgx.Conn) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, status := range []string{"in_flight", "released", "committed", "failed", "done"} {
		for n := range 1 << 6 {
			row := inFlight.with(columns{"status": "'" + status + "'"})
			for bit, column := range []string{"locked_until", "completed_at", "response_status", "response_header", "response_body"} {
				row[column] = "NULL"
				if n>>bit&1 == 1 {
					row[column] = finished("committed").with(columns{"locked_until": "statement_timestamp()"})[column]
				}
			}
			row["leased"] = fmt.Sprint(n>>5 == 1)
			statement := row.insert()
			var refusal *pgconn.PgError
			switch _, err := conn.Exec(t.Context(), "BEGIN; "+statement+"; ROLLBACK"); {
			case err == nil:
				found[statement] = ""
			case errors.As(err, &refusal):
				found[statement] = refusal.Code + " " + refusal.ConstraintName
				if _, err := conn.Exec(t.Context(), "ROLLBACK"); err != nil {
					t.Fatal(err)
				}
			default:
				t.Fatal(err)
			}
		}
	}
	return found
}

// PostgreSQL parses a CHECK of a table once a statement that writes it: 37 µs for the 13 rules, where an insert takes 9.
func TestTheHotTableHasOneCheck(t *testing.T) {
	t.Parallel()
	checks := lines(t, connect(t, testdb.URL(t)), `SELECT conname || ' ' || (length(conbin::text) < 3000) FROM pg_catalog.pg_constraint
		WHERE conrelid = 'idem.keys'::regclass AND contype = 'c'`)
	if len(checks) != 1 || checks[0] != "key_is_possible true" {
		t.Errorf("the checks of idem.keys are %q, want key_is_possible alone, and short: put a rule on a domain", checks)
	}
}
