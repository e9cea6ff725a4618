package pgstub_test

import (
	"context"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/gen"
	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/internal/pgstub"
	"github.com/pgidem/pgidem/internal/testdb"
)

var key = idem.Key{Tenant: "T1", Endpoint: "POST /charges", ID: "k-1", Fingerprint: idem.FingerprintOf([]byte("$49.00"))}

func answer() *idem.Response {
	return &idem.Response{Status: 201, Header: map[string][]string{"Content-Type": {"application/json"}}, Body: []byte(`{"id":"ch_1"}`)}
}

// call is one call of a Store, and what its work saw of its lease.
type call func(context.Context, *idem.Store) (resp *idem.Response, seen any, err error)

var calls = map[string]call{
	"Hold": func(ctx context.Context, s *idem.Store) (resp *idem.Response, seen any, err error) {
		resp, err = s.Hold(ctx, key, func(_ context.Context, l *idem.Lease) (*idem.Response, error) {
			seen = []any{l.Fence() > 0, l.Attempt(), l.DownstreamKey("charge")}
			return answer(), nil
		})
		return resp, seen, err
	},
	"Do": func(ctx context.Context, s *idem.Store) (resp *idem.Response, seen any, err error) {
		resp, err = s.Do(ctx, key, func(context.Context, pgx.Tx) (*idem.Response, error) { return answer(), nil })
		return resp, nil, err
	},
}

// ended is how a call ended, and what it sent.
type ended struct {
	Response *idem.Response
	Seen     any
	Err      error
	Sent     []string
}

// run makes a call twice, so that the second is on a warm connection, and says how that one ended. before comes between them.
func run(t *testing.T, pool *pgxpool.Pool, c call, sent *sent, before func(*idem.Store)) ended {
	t.Helper()
	store := &idem.Store{Pool: pool}
	defer store.Close()
	if _, _, err := c(t.Context(), store); err != nil {
		t.Fatal(err)
	}
	before(store)
	*sent = nil
	resp, seen, err := c(t.Context(), store)
	if resp != nil && resp.CompletedAt.IsZero() {
		t.Error("CompletedAt is zero")
	}
	return ended{resp, seen, err, slices.Clone(*sent)}
}

// sent notes the statements of one connection's batches.
type sent []string

func (s *sent) listen(pool *pgxpool.Pool, t *testing.T) *pgxpool.Pool {
	config := pool.Config()
	config.MaxConns = 1
	config.ConnConfig.Tracer = s
	config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheStatement
	heard, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(heard.Close)
	return heard
}

func (s *sent) TraceQueryStart(ctx context.Context, _ *pgx.Conn, q pgx.TraceQueryStartData) context.Context {
	*s = append(*s, q.SQL)
	return ctx
}
func (s *sent) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}
func (s *sent) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return ctx
}
func (s *sent) TraceBatchQuery(_ context.Context, _ *pgx.Conn, q pgx.TraceBatchQueryData) {
	*s = append(*s, q.SQL)
}
func (s *sent) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

// What a benchmark measures in front of the stub is what a server would have been sent, answered alike.
func TestHoldAndDoEndOnTheStubAsOnPostgreSQL(t *testing.T) {
	t.Parallel()
	for _, name := range slices.Sorted(maps.Keys(calls)) {
		for _, already := range []struct {
			name  string
			stub  *pgstub.Stub
			set   string // what makes the server's key like the stub's
			least int    // statements
		}{
			{"a new key", &pgstub.Stub{}, "DELETE FROM idem.keys", 4},
			{"a key that has its answer", &pgstub.Stub{Body: answer().Body}, "SELECT 1", 1}, // it was seen lately
		} {
			t.Run(name+" of "+already.name, func(t *testing.T) {
				t.Parallel()
				var toServer, toStub sent
				server := testdb.New(t)
				want := run(t, toServer.listen(server, t), calls[name], &toServer, func(*idem.Store) {
					if _, err := server.Exec(t.Context(), already.set); err != nil {
						t.Fatal(err)
					}
				})
				got := run(t, toStub.listen(already.stub.Pool(t), t), calls[name], &toStub, func(*idem.Store) {})
				if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(idem.Response{}, "CompletedAt")); diff != "" {
					t.Errorf("on PostgreSQL (-) and on the stub (+):\n%s", diff)
				}
				if len(want.Sent) < already.least {
					t.Errorf("only %d statements were noted", len(want.Sent))
				}
			})
		}
	}
}

func TestStubDescribesStatementsAsPostgreSQLDoes(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	server, stub := one(t, testdb.New(t)), one(t, (&pgstub.Stub{}).Pool(t))
	for name, send := range map[string]func(q *gen.Queries, db gen.DBTX){
		"KeyClaim":        func(q *gen.Queries, db gen.DBTX) { _, _ = q.KeyClaim(ctx, db, gen.KeyClaimParams{}) },
		"KeyLoad":         func(q *gen.Queries, db gen.DBTX) { _, _ = q.KeyLoad(ctx, db, gen.KeyLoadParams{}) },
		"KeyComplete":     func(q *gen.Queries, db gen.DBTX) { _, _ = q.KeyComplete(ctx, db, gen.KeyCompleteParams{}) },
		"KeyCompleteTx":   func(q *gen.Queries, db gen.DBTX) { _, _ = q.KeyCompleteTx(ctx, db, gen.KeyCompleteTxParams{}) },
		"SettingsClaim":   func(q *gen.Queries, db gen.DBTX) { _ = q.SettingsClaim(ctx, db, gen.SettingsClaimParams{}) },
		"SettingsRestore": func(q *gen.Queries, db gen.DBTX) { _ = q.SettingsRestore(ctx, db) },
		"SettingsWrite":   func(q *gen.Queries, db gen.DBTX) { _ = q.SettingsWrite(ctx, db, gen.SettingsWriteParams{}) },
	} {
		var text sqlText
		send(gen.New(), &text)
		if diff := cmp.Diff(described(t, server, string(text)), described(t, stub, string(text))); diff != "" {
			t.Errorf("%s on PostgreSQL (-) and on the stub (+):\n%s", name, diff)
		}
	}
}

func TestStubRefusesWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	stub := one(t, (&pgstub.Stub{}).Pool(t))
	if _, err := stub.Prepare(t.Context(), "s", "SELECT 1"); err == nil {
		t.Error("a statement that it does not know was prepared")
	}
	if err := stub.Ping(t.Context()); err != nil {
		t.Errorf("the connection is of no use any more: %v", err)
	}
}

func one(t testing.TB, pool *pgxpool.Pool) *pgx.Conn {
	t.Helper()
	conn, err := pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Release)
	return conn.Conn()
}

// description is what a statement takes and returns.
type description struct {
	Params []uint32
	Fields []string
	Types  []uint32
}

func described(t *testing.T, conn *pgx.Conn, sql string) (d description) {
	t.Helper()
	sd, err := conn.Prepare(t.Context(), sql, sql)
	if err != nil {
		t.Fatal(err)
	}
	d.Params = append(d.Params, sd.ParamOIDs...)
	for _, f := range sd.Fields {
		d.Fields, d.Types = append(d.Fields, f.Name), append(d.Types, f.DataTypeOID)
	}
	return d
}

// sqlText takes the text of the statement that is sent to it.
type sqlText string

func (s *sqlText) Exec(_ context.Context, sql string, _ ...any) (pgconn.CommandTag, error) {
	*s = sqlText(sql)
	return pgconn.CommandTag{}, pgx.ErrNoRows
}

func (s *sqlText) Query(_ context.Context, sql string, _ ...any) (pgx.Rows, error) {
	*s = sqlText(sql)
	return nil, pgx.ErrNoRows
}

func (s *sqlText) QueryRow(_ context.Context, sql string, _ ...any) pgx.Row {
	*s = sqlText(sql)
	return noRow{}
}

type noRow struct{}

func (noRow) Scan(...any) error { return pgx.ErrNoRows }
