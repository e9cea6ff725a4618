package idem_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pgidem/pgidem/gen"
	"github.com/pgidem/pgidem/idem"
)

// wantNothing checks that a batch failed with err and left nothing, so that the same key can be used again.
func (b *bundle) wantNothing(key idem.Key, resp *idem.Response, err error) {
	b.t.Helper()
	if err == nil || resp != nil {
		b.t.Errorf("an answer left: %+v, %v", resp, err)
	}
	if n := b.count("SELECT count(*) FROM charges"); n != 0 {
		b.t.Errorf("%d charges, want 0", n)
	}
	if row := b.row(key); row != "" {
		b.t.Errorf("the key is not free: %s", row)
	}
}

// A batch without an answer is rolled back, whyever there is none.
func TestDoBatchWithoutAnAnswerLeavesNothing(t *testing.T) {
	b := setup(t)
	const insert = "INSERT INTO charges (key) VALUES ('k')"
	b.exec(`CREATE FUNCTION answers_and_fails() RETURNS void LANGUAGE plpgsql AS $$
		BEGIN
			PERFORM idem.answer(200, '');
			RAISE 'after all';
		EXCEPTION WHEN OTHERS THEN NULL;
		END $$`)
	for name, work := range map[string]func(*idem.Batch){
		"no statement":                  queue(),
		"no statement that answers":     queue(insert),
		"no row to answer for":          queue(insert, "WITH paid AS (UPDATE charges SET key = 'l' WHERE key = 'none' RETURNING id) SELECT idem.answer(200, '') FROM paid"),
		"a WITH that nothing reads":     queue("WITH answered AS (SELECT idem.answer(200, '')) " + insert),
		"the answer is rolled back":     queue(insert, "SAVEPOINT a", "SELECT idem.answer(200, '')", "ROLLBACK TO SAVEPOINT a"),
		"the answer's error is ignored": queue(insert, "SELECT answers_and_fails()"),
		"the key is not ours any more":  queue(insert, "SELECT idem.answer(200, '')", "UPDATE idem.keys SET claim_id = gen_random_uuid()"),
	} {
		t.Run(name, func(t *testing.T) {
			b := b.on(t)
			resp, err := b.store.DoBatch(b.ctx, b.key("k"), work)
			wantIs(t, err, idem.ErrNoAnswer)
			if keyError(t, err).Op != "dobatch" || !strings.Contains(err.Error(), "no statement of the batch recorded an answer") {
				t.Errorf("the error is %v", err)
			}
			b.wantNothing(b.key("k"), resp, err)
		})
	}
}

// Errors of the user's statements come back unchanged, whatever their SQLSTATE: their place tells them from the claim's.
func TestDoBatchReturnsTheErrorsOfItsStatements(t *testing.T) {
	b := setup(t)
	const insert = "INSERT INTO charges (key) VALUES ('k')"
	raise := func(code string) string {
		return "DO $$ BEGIN RAISE 'by hand' USING ERRCODE = '" + code + "'; END $$"
	}
	for name, c := range map[string]struct {
		work []string
		code string
	}{
		"division by zero":           {[]string{insert, "SELECT 1/0"}, "22012"},
		"first statement":            {[]string{"SELECT 1/0", insert}, "22012"},
		"syntax":                     {[]string{insert, "SELEKT 1"}, "42601"},
		"no such table":              {[]string{insert, "INSERT INTO nowhere VALUES (1)"}, "42P01"},
		"looks like a time-out":      {[]string{insert, raise("57014")}, "57014"},
		"looks like a lock time-out": {[]string{insert, raise("55P03")}, "55P03"},
		"is a time-out":              {[]string{insert, "SET LOCAL statement_timeout = 30", "SELECT pg_sleep(10)"}, "57014"},
		"looks like ours, 1":         {[]string{insert, raise("IDM01")}, "IDM01"},
		"looks like ours, 2":         {[]string{insert, raise("IDM02")}, "IDM02"},
		"looks like ours, 3":         {[]string{insert, raise("IDM03")}, "IDM03"},
		"serialization":              {[]string{insert, raise("40001")}, "40001"},
		"answers twice":              {[]string{insert, "SELECT idem.answer(200, '') FROM generate_series(1, 2)"}, "IDM01"},
		"answers twice, apart":       {[]string{insert, "SELECT idem.answer(200, '')", "SELECT idem.answer(200, '')"}, "IDM01"},
		"NULL body":                  {[]string{insert, "SELECT idem.answer(200, NULL)"}, "22004"},
		"NULL status":                {[]string{insert, "SELECT idem.answer(NULL, '')"}, "22004"},
		"NULL header":                {[]string{insert, "SELECT idem.answer(200, '', NULL)"}, "22004"},
		"status of four digits":      {[]string{insert, "SELECT idem.answer(1000, '')"}, "23514"},
		"after the answer":           {[]string{insert, "SELECT idem.answer(200, '')", "SELECT 1/0"}, "22012"},
		"raises from a nested call":  {[]string{insert, "SELECT idem.not_claimed()"}, "IDM02"},
	} {
		t.Run(name, func(t *testing.T) {
			b := b.on(t)
			resp, err := b.store.DoBatch(b.ctx, b.key("k"), queue(c.work...))
			if sqlState(err) != c.code {
				t.Errorf("got %v, want SQLSTATE %s", err, c.code)
			}
			var ours *idem.KeyError
			if errors.As(err, &ours) {
				t.Errorf("an error of a statement is dressed as the Store's: %v", err)
			}
			b.wantNothing(b.key("k"), resp, err)
			if resp, err := b.store.DoBatch(b.ctx, b.key("k"), queue("SELECT idem.answer(204, '')")); err != nil || resp.Replayed {
				t.Errorf("the key is not free: %+v, %v", resp, err)
			}
		})
	}
}

// What pgx cannot send is the statements' error too, and the connection stays usable.
func TestDoBatchReturnsTheErrorOfAnArgument(t *testing.T) {
	b := setup(t)
	for name, work := range map[string]func(*idem.Batch){
		"of a type that nothing knows": func(b *idem.Batch) { b.Queue(charged, make(chan int)) },
		"one too many":                 func(b *idem.Batch) { b.Queue(charged, "k", "l") },
		"one too few":                  func(b *idem.Batch) { b.Queue(charged) },
		"that is not to be rewritten":  func(b *idem.Batch) { b.Queue(charged, unwritable{}) },
	} {
		t.Run(name, func(t *testing.T) {
			b := b.on(t)
			for range 2 {
				resp, err := b.store.DoBatch(b.ctx, b.key("k"), work)
				var ours *idem.KeyError
				if errors.As(err, &ours) {
					t.Errorf("dressed as the Store's: %v", err)
				}
				b.wantNothing(b.key("k"), resp, err)
			}
		})
	}
}

type unwritable struct{}

func (unwritable) RewriteQuery(context.Context, *pgx.Conn, string, []any) (string, []any, error) {
	return "", nil, errors.ErrUnsupported
}

// A constraint that is checked at COMMIT gives no answer, and its error is the Store's as in Do.
func TestDoBatchConstraintThatFailsAtCommitGivesNoAnswer(t *testing.T) {
	b := setup(t)
	b.exec("CREATE TABLE customers (id int PRIMARY KEY)")
	b.exec("CREATE TABLE orders (customer int REFERENCES customers DEFERRABLE INITIALLY DEFERRED)")
	resp, err := b.store.DoBatch(b.ctx, b.key("k"), queue("INSERT INTO orders VALUES (7)", "SELECT idem.answer(201, '')"))
	var pg *pgconn.PgError
	if !errors.As(err, &pg) || pg.Code != "23503" || keyError(t, err).Op != "dobatch" {
		t.Errorf("got %v, want the constraint's error", err)
	}
	if errors.Is(err, idem.ErrCommitUnknown) || errors.Is(err, idem.ErrUnavailable) {
		t.Errorf("the outcome is known for certain, and the error says %v", err)
	}
	b.wantNothing(b.key("k"), resp, err)
}

// The transaction is the Store's. What would end it, and what would not be one statement in every query mode, is refused before
// anything is sent.
func TestDoBatchRefusesWhatIsNotAStatementOfItsTransaction(t *testing.T) {
	b := setup(t)
	var sent trips
	store := b.process(idem.Policy{}, sent.trace)
	for sql, want := range map[string]error{
		"COMMIT": idem.ErrTxOwned, "rollback": idem.ErrTxOwned, "/* a */ END": idem.ErrTxOwned, "SELECT 1; COMMIT": idem.ErrTxOwned,
		"PREPARE TRANSACTION 'x'": idem.ErrTxOwned,
		"":                        nil, ";": nil, "-- nothing": nil, "SELECT 1; SELECT 2": nil,
	} {
		resp, err := store.DoBatch(b.ctx, b.key("k"), queue("INSERT INTO charges (key) VALUES ('k')", "SELECT idem.answer(200, '')", sql))
		if keyError(t, err); want != nil && !errors.Is(err, want) {
			t.Errorf("%q: got %v, want %v", sql, err, want)
		}
		b.wantNothing(b.key("k"), resp, err)
	}
	if n := sent.n.Load(); n != 0 {
		t.Errorf("%d trips were made", n)
	}
	resp, err := b.store.DoBatch(b.ctx, b.key("k"), queue("SAVEPOINT a;", "SELECT ';' -- ;\n;", "ROLLBACK TO SAVEPOINT a", "SELECT idem.answer(200, '');"))
	if err != nil || resp.Status != 200 {
		t.Errorf("a savepoint of the work's own: %+v, %v", resp, err)
	}
}

// A text that a rewriter made slips past the guard; the connection's status shows it, and operators find the key.
func TestDoBatchWhoseTransactionIsEndedBehindItsBackIsUnknown(t *testing.T) {
	b := setup(t)
	work := func(b *idem.Batch) {
		b.Queue("INSERT INTO charges (key) VALUES ('k')")
		b.Queue("SELECT 1", commits{})
		b.Queue("SELECT idem.answer(200, '')")
	}
	resp, err := b.store.DoBatch(b.ctx, b.key("k"), work)
	wantIs(t, err, idem.ErrTxOwned)
	if resp != nil {
		t.Errorf("an answer left: %+v", resp)
	}
	_, err = b.store.DoBatch(b.ctx, b.key("k"), work)
	wantIs(t, err, idem.ErrOutcomeUnknown)
	if n := b.count("SELECT count(*) FROM idem.keys WHERE leased AND status = 'in_flight' AND locked_until <= now()"); n != 1 {
		t.Errorf("%d keys are shown to operators, want 1", n)
	}
}

type commits struct{}

func (commits) RewriteQuery(context.Context, *pgx.Conn, string, []any) (string, []any, error) {
	return "COMMIT", nil, nil
}

// idem.answer belongs to batches. Elsewhere, and once a batch is over, it has no key to answer for.
func TestIdemAnswerOutsideABatchIsRefused(t *testing.T) {
	b := setup(t, poolOf(1))
	refused := func(when string) {
		if _, err := b.pool.Exec(b.ctx, "SELECT idem.answer(200, '')"); sqlState(err) != "IDM01" {
			t.Errorf("%s: %v, want IDM01", when, err)
		}
	}
	refused("on a fresh connection")
	_, err := b.store.Do(b.ctx, b.key("do"), func(ctx context.Context, tx pgx.Tx) (*idem.Response, error) {
		_, err := tx.Exec(ctx, "SELECT idem.answer(200, '')")
		return nil, err
	})
	if sqlState(err) != "IDM01" {
		t.Errorf("in Do: %v, want IDM01", err)
	}
	if _, err := b.store.DoBatch(b.ctx, b.key("k"), charging("k")); err != nil {
		t.Fatal(err)
	}
	refused("on the connection of a batch that is over")
	if n := b.count("SELECT count(*) FROM unnest(ARRAY['tenant_id', 'endpoint', 'key', 'claim_id', 'retention']) AS s WHERE current_setting('idem.' || s) <> ''"); n != 0 {
		t.Errorf("%d settings of the batch are still there", n)
	}
}

// A panic of fn comes before anything is sent, and leaves the key to the next.
func TestDoBatchWhoseQueueingPanicsLeavesTheKeyFree(t *testing.T) {
	b := setup(t)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic did not go on up")
			}
		}()
		_, _ = b.store.DoBatch(b.ctx, b.key("k"), func(*idem.Batch) { panic("in fn") })
	}()
	if resp, err := b.store.DoBatch(b.ctx, b.key("k"), charging("k")); err != nil || resp.Replayed {
		t.Errorf("got %+v, %v; want a first answer", resp, err)
	}
}

// The queries by themselves: a claim, the gate, idem.answer, as SQL of other languages would send them.
func TestBatchQueriesRaiseTheirOwnStates(t *testing.T) {
	b := setup(t)
	key := b.key("k")
	tx := b.begin()
	_, err := tx.Exec(b.ctx, "SAVEPOINT before")
	if err != nil {
		t.Fatal(err)
	}
	err = gen.New().SettingsClaim(b.ctx, tx, gen.SettingsClaimParams{})
	if err != nil {
		t.Fatal(err)
	}
	err = gen.New().BatchClaimed(b.ctx, tx, gen.BatchClaimedParams{TenantID: key.Tenant, Endpoint: key.Endpoint, Key: key.ID})
	if sqlState(err) != "IDM02" {
		t.Errorf("the gate: %v, want IDM02", err)
	}
	if _, err := tx.Exec(b.ctx, "ROLLBACK TO SAVEPOINT before"); err != nil {
		t.Fatal(err)
	}
	_, err = gen.New().BatchAnswered(b.ctx, tx, gen.BatchAnsweredParams{TenantID: key.Tenant, Endpoint: key.Endpoint, Key: key.ID, StatementTimeout: "1000"})
	if sqlState(err) != "IDM03" {
		t.Errorf("the answer: %v, want IDM03", err)
	}
}
