package idem_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/pgidem/pgidem/gen"
)

// captured is a statement of gen as it is sent.
type captured struct {
	sql  string
	args []any
}

var errCaptured = errors.New("captured, not sent")

func (c *captured) take(sql string, args []any) error {
	c.sql, c.args = sql, args
	return errCaptured
}

func (c *captured) Exec(_ context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	return pgconn.CommandTag{}, c.take(sql, args)
}

func (c *captured) Query(_ context.Context, sql string, args ...any) (pgx.Rows, error) {
	return nil, c.take(sql, args)
}

func (c *captured) QueryRow(_ context.Context, sql string, args ...any) pgx.Row {
	return capturedRow{c.take(sql, args)}
}

type capturedRow struct{ err error }

func (r capturedRow) Scan(...any) error { return r.err }

var (
	scan  = regexp.MustCompile(`Scan( Backward)?( using \w+)? on (keys\b|keys_)`)
	byKey = regexp.MustCompile(`Index (Only )?Scan using keys_pkey on keys( \w+)?\n *Index Cond: ` +
		`\(\(tenant_id = .*\) AND \(endpoint = .*\) AND \(key = `)
)

// hot are the statements that every call sends, and those of each heartbeat and takeover.
var hot = []string{"KeyClaim", "KeyLoad", "KeyRenew", "KeyResume", "KeyTakeOver", "KeyResolve", "KeyComplete", "KeyCompleteTx",
	"LeaseExtend", "LeaseRelease", "LeaseAbandon", "KeyClaimMany", "KeyCompleteMany", "LeaseExtendMany"}

// early are the hot statements without those whose plan, until autovacuum has analysed the table, may begin with all keys.
func early() []string {
	return slices.DeleteFunc(slices.Clone(hot), func(name string) bool { return name == "KeyCompleteMany" || name == "LeaseExtendMany" })
}

// otherwise are statements that, where the statistics say that there are no keys, may take the index of leased keys.
func otherwise(name string) bool {
	return name == "KeyResume" || name == "KeyTakeOver" || name == "KeyResolve"
}

// manyOf are the arguments of a statement for n callers.
func manyOf(n int, arg reflect.Value) {
	for i := range arg.NumField() {
		if f := arg.Field(i); f.Kind() == reflect.Slice && f.Type().Elem().Kind() != reflect.Uint8 {
			for f.Len() < n {
				f.Set(reflect.Append(f, f.Index(0)))
			}
		}
	}
	if keys := arg.FieldByName("Keys"); keys.IsValid() {
		ids := arg.FieldByName("ClaimIds")
		for i := range n {
			keys.Index(i).SetString(fmt.Sprint("k", i))
			ids.Index(i).Set(reflect.ValueOf(pgtype.UUID{Bytes: [16]byte{1, byte(i)}, Valid: true}))
		}
	}
}

// Every hot statement reaches idem.keys by its primary key alone, on a table that is empty and was never analysed, and goes on doing
// so in the generic plan that a prepared statement has from its sixth execution on; and on a large one; and where the statistics say
// that the table is empty.
func TestHotStatementsUseThePrimaryKey(t *testing.T) {
	b := setup(t)
	check := func(state string, callers int, statements []string) {
		t.Helper()
		for _, name := range statements {
			method := reflect.ValueOf(gen.New()).MethodByName(name)
			arg := argument(t, name, method.Type().In(2))
			many := strings.HasSuffix(name, "Many")
			if many {
				manyOf(callers, arg)
			}
			var c captured
			method.Call([]reflect.Value{reflect.ValueOf(b.ctx), reflect.ValueOf(&c), arg})
			plans, err := b.plans(c, many)
			if err != nil {
				t.Errorf("%s, %s: %v", state, name, err)
				continue
			}
			for n, plan := range plans {
				if scans := scan.FindAllString(plan, -1); len(scans) == 0 || len(scans) != len(byKey.FindAllString(plan, -1)) {
					t.Errorf("%s, %s for %d callers, execution %d:\n%s", state, name, callers, n+1, plan)
					break
				}
			}
		}
	}
	for _, callers := range []int{2, 128} {
		check("on an empty table", callers, early())
	}
	b.execAsOwner("VACUUM ANALYZE idem.keys")
	for _, callers := range []int{2, 128} {
		check("on a table that was empty when it was vacuumed", callers, slices.DeleteFunc(early(), otherwise))
	}
	b.exec(`INSERT INTO idem.keys (fence, claimed_at, locked_until, created_at, expires_at, claim_id, attempts, leased, tenant_id, endpoint, key, status, fingerprint)
		SELECT 1, now(), now() + interval '1 hour', now(), now() + interval '1 day', gen_random_uuid(), 1, true, 't', 'e', 'k' || i, 'in_flight', '\x01'
		FROM generate_series(1, 20000) AS i`)
	for _, callers := range []int{2, 128} {
		check("on a table that has grown", callers, early())
	}
	b.execAsOwner("ANALYZE idem.keys")
	for _, callers := range []int{2, 128} {
		check("on an analysed table", callers, hot)
	}
}

// plans are those of eight executions of a prepared statement, in transactions with the settings of a claim or of several, and of its
// generic plan.
func (b *bundle) plans(c captured, many bool) (plans []string, err error) {
	conn, err := b.pool.Acquire(b.ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Release()
	if _, err := conn.Conn().Prepare(b.ctx, "hot", c.sql); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, conn.Conn().Deallocate(b.ctx, "hot")) }()
	places := make([]string, len(c.args))
	for i := range places {
		places[i] = fmt.Sprint("$", i+1)
	}
	explain := fmt.Sprintf("EXPLAIN (COSTS OFF) EXECUTE hot(%s)", strings.Join(places, ", "))
	for n := range 9 {
		plan, err := func() (string, error) {
			tx, err := conn.Begin(b.ctx)
			if err != nil {
				return "", err
			}
			defer func() { _ = tx.Rollback(b.ctx) }()
			if many {
				err = gen.New().SettingsCoalesced(b.ctx, tx, gen.SettingsCoalescedParams{StatementTimeout: "60000"})
			} else {
				err = gen.New().SettingsWrite(b.ctx, tx, gen.SettingsWriteParams{})
			}
			if err == nil && n == 8 {
				_, err = tx.Exec(b.ctx, "SET LOCAL plan_cache_mode = force_generic_plan")
			}
			if err != nil {
				return "", err
			}
			rows, _ := tx.Query(b.ctx, explain, slices.Concat([]any{pgx.QueryExecModeSimpleProtocol}, c.args)...)
			lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
			return strings.Join(lines, "\n"), err
		}()
		if err != nil {
			return nil, err
		}
		plans = append(plans, plan)
	}
	return plans, nil
}
