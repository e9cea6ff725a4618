package idem_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/pgidem/pgidem/gen"
)

// shapes are the states a key can be in, each with NULL in every column that may hold it then.
var shapes = []struct{ name, sql string }{
	{"no key at all", "SELECT 1"},
	{"held", keyOf("in_flight", true, ahead, ahead)},
	{"held in atomic mode", keyOf("in_flight", false, ahead, ahead)},
	{"abandoned", keyOf("in_flight", true, past, ahead)},
	{"abandoned, and its work is known", keyOf("in_flight", true, past, ahead) + "; UPDATE idem.keys SET handler = 'h'"},
	{"parked", keyOf("in_flight", true, past, ahead) + "; UPDATE idem.keys SET handler = 'h', attempts = 9"},
	{"touched by an operator", keyOf("committed", false, none, ahead) + noteOfAnOperator},
	{"abandoned in a step", keyOf("in_flight", true, past, ahead) + begunStep},
	{"given back", keyOf("released", false, none, ahead)},
	{"given back long ago", keyOf("released", false, none, past)},
	{"given back in a step", keyOf("released", true, none, past) + begunStep},
	{"committed", keyOf("committed", false, none, ahead)},
	{"committed and expired", keyOf("committed", false, none, past)},
	{"committed and expired, with a step", keyOf("committed", false, none, past) + begunStep},
	{"failed and expired", keyOf("failed", false, none, past)},
	{"held by one who may not record steps", keyOf("in_flight", true, ahead, ahead) + mayNotRecordSteps},
}

// noteOfAnOperator is written by the owner: the service's role may not, whichever of them the test runs as.
const noteOfAnOperator = `; DO $$ DECLARE me name := current_user; BEGIN
	RESET ROLE;
	INSERT INTO idem.audit (who, what, tenant_id, endpoint, key, reason) VALUES ('ada', 'settle', 't', 'e', 'k', 'found');
	EXECUTE format('SET ROLE %I', me);
END $$`

// mayNotRecordSteps takes a right away from whoever the test runs as: the owner, or a role that has it from idem_app.
const mayNotRecordSteps = `; DO $$ BEGIN
	IF current_user = session_user THEN
		REVOKE INSERT ON idem.steps FROM CURRENT_USER;
	ELSE
		EXECUTE format('RESET ROLE; REVOKE INSERT ON idem.steps FROM idem_app; SET ROLE %I', current_user);
	END IF;
END $$`

const none = "NULL"

// keyOf inserts a key.
func keyOf(status string, leased bool, lockedUntil, expiresAt string) string {
	completed, answer, header := none, none, "NULL"
	if status == "committed" || status == "failed" {
		completed, answer, header = "now()", "200", "''"
	}
	held := "false"
	if leased {
		held = "true"
	}
	return `INSERT INTO idem.keys (fence, claimed_at, locked_until, created_at, completed_at, expires_at, claim_id, attempts, response_status,
			leased, tenant_id, endpoint, key, status, fingerprint, handler, request, response_header, response_body, provider_ref)
		VALUES (1, now(), ` + lockedUntil + `, now(), ` + completed + `, ` + expiresAt + `,
			'2a000000-0000-0000-0000-000000000000', 1, ` + answer + `, ` + held + `, 't', 'e', 'k', '` + status + `', '\x01',
			NULL, NULL, ` + header + `, NULL, NULL)`
}

const begunStep = `; INSERT INTO idem.steps (begun_at, finished_at, position, tenant_id, endpoint, key, name, output)
	VALUES (now(), NULL, 1, 't', 'e', 'k', 's', NULL)`

// arguments are what every query is called with, by the names of its parameters; those that may be NULL are NULL. A query that
// brings a new parameter is to be taught here.
var arguments = map[string]any{
	"TenantID": "t", "Endpoint": "e", "Key": "k", "Fingerprint": []byte{1},
	"ClaimID":     pgtype.UUID{Bytes: [16]byte{0x2a}, Valid: true},
	"SeenClaimID": pgtype.UUID{Bytes: [16]byte{0x2a}, Valid: true},
	"Fence":       int64(1), "SeenFence": int64(1), "Leased": true,
	"Lease": time.Minute, "Retention": time.Hour,
	"Status": "committed", "ResponseStatus": int32(200), "ResponseHeader": []byte{},
	"ResponseBody": []byte(nil), "Request": []byte(nil),
	"StatementTimeout": "1000", "LockTimeout": "", "IdleTimeout": "",
	"FromTime": time.Time{}, "Batch": int32(10),
	"Settle": time.Duration(0), "Backoff": time.Duration(0), "Longest": time.Duration(0), "Jitter": 1.0,
	"Handlers": []string{"h"}, "Attempts": int32(2),
	"Name": "s", "Position": int32(1), "Output": []byte{},
	"TenantIds": []string{"t"}, "Endpoints": []string{"e"}, "Keys": []string{"k"}, "Fingerprints": [][]byte{{1}},
	"ClaimIds": []pgtype.UUID{{Bytes: [16]byte{0x2a}, Valid: true}}, "Fences": []int64{1},
	"Leases": []time.Duration{time.Minute}, "Retentions": []time.Duration{time.Hour}, "Requests": [][]byte{nil}, "MostBody": int32(10),
	"Statuses": []string{"committed"}, "ResponseStatuses": []int32{200}, "ResponseHeaders": [][]byte{{}},
	"ResponseBodies": [][]byte{nil}, "ProviderRefs": []string{""},
	"Who": "ada", "What": "settle", "Reason": "found", "Older": time.Duration(0), "Most": int32(10), "State": "",
}

// argument makes the last argument of a query: a struct of named parameters, or one parameter that has no name here.
func argument(t *testing.T, query string, of reflect.Type) reflect.Value {
	arg := reflect.New(of).Elem()
	if of.Kind() != reflect.Struct {
		return arg
	}
	for _, field := range reflect.VisibleFields(of) {
		if field.Type.Kind() == reflect.Pointer {
			continue // NULL
		}
		value, ok := arguments[field.Name]
		if !ok {
			t.Fatalf("%s has a parameter %s, which arguments in null_test.go does not name yet", query, field.Name)
		}
		arg.FieldByIndex(field.Index).Set(reflect.ValueOf(value))
	}
	return arg
}

// TestNULLIsReadByEveryQuery calls every query that there is, found by reflection, on a key in every state. None fails to read
// what it finds, and each finds or changes something in one of them.
func TestNULLIsReadByEveryQuery(t *testing.T) {
	b := setup(t)
	queries := reflect.ValueOf(gen.New())
	for i := range queries.NumMethod() {
		name := queries.Type().Method(i).Name
		t.Run(name, func(t *testing.T) {
			b := b.on(t)
			method := queries.Method(i)
			found := 0
			for _, shape := range shapes {
				results, err := b.call(method, name, shape.sql)
				switch {
				case err == nil:
					if len(results) == 0 || !results[0].IsZero() && (results[0].Kind() != reflect.Slice || results[0].Len() > 0) {
						found++
					}
				case errors.Is(err, pgx.ErrNoRows):
				case sqlState(err) == "IDM01": // there is no lease to complete
				case sqlState(err) == "IDM02" && name == "BatchClaimed", sqlState(err) == "IDM03" && name == "BatchAnswered": // as their comments say
				case sqlState(err) == "42501" && shape.name == "held by one who may not record steps":
				case sqlState(err) == "42501" && strings.HasPrefix(name, "Operator"), sqlState(err) == "42501" && strings.HasPrefix(name, "Stats"):
					found++ // the service's role is no operator's
				case sqlState(err) == "23503" && name == "StepProbe": // the step of a key that is gone
				case sqlState(err) == "23505" && name == "StepRecordTx": // it is recorded, as its comment says
				default:
					t.Errorf("%s: %v", shape.name, err)
				}
			}
			if found == 0 && name != "StatsSnapshot" { // which finds what other sessions hold
				t.Errorf("it found nothing in any state of a key: add one to shapes")
			}
		})
	}
}

// call calls a query in a transaction that is rolled back, with the settings of a claim.
func (b *bundle) call(method reflect.Value, name, sql string) ([]reflect.Value, error) {
	b.t.Helper()
	tx, err := b.pool.Begin(b.ctx)
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(b.ctx)) }()
	if _, err := tx.Exec(b.ctx, sql, pgx.QueryExecModeSimpleProtocol); err != nil {
		b.t.Fatalf("%s: %v", sql, err)
	}
	if err := gen.New().SettingsClaim(b.ctx, tx, gen.SettingsClaimParams{}); err != nil {
		b.t.Fatal(err)
	}
	in := []reflect.Value{reflect.ValueOf(b.ctx), reflect.ValueOf(tx)}
	if method.Type().NumIn() == 3 {
		in = append(in, argument(b.t, name, method.Type().In(2)))
	}
	out := method.Call(in)
	err, _ = out[len(out)-1].Interface().(error)
	return out[:len(out)-1], err
}

// TestEmptyTableHasNoNextTenant: an aggregate over no rows is NULL where the sweep expects a name.
func TestEmptyTableHasNoNextTenant(t *testing.T) {
	b := setup(t)
	tenant, err := gen.New().SweepNextTenant(b.ctx, b.pool, "")
	if err != nil || tenant != "" {
		t.Errorf("got %q, %v; want none", tenant, err)
	}
}
