package idem_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/idem"
)

// charged is a charge and its answer in one statement.
const charged = `WITH charge AS (INSERT INTO charges (key) VALUES ($1::text) RETURNING id)
	SELECT idem.answer(201, convert_to(json_build_object('id', id)::text, 'UTF8'), convert_to(format(E'Location: /charges/%s\r\n', id), 'UTF8'))
	FROM charge`

// charging is work of a batch: one row, answered with 201.
func charging(id string) func(*idem.Batch) {
	return func(b *idem.Batch) { b.Queue(charged, id) }
}

// queue is work of a batch without arguments.
func queue(statements ...string) func(*idem.Batch) {
	return func(b *idem.Batch) {
		for _, sql := range statements {
			b.Queue(sql)
		}
	}
}

func TestDoBatchReplaysTheFirstAnswer(t *testing.T) {
	b := setup(t)
	first, err := b.store.DoBatch(b.ctx, b.key("k"), charging("k"))
	if err != nil {
		t.Fatal(err)
	}
	want := &idem.Response{Status: 201, Body: []byte(`{"id" : 1}`), Header: map[string][]string{"Location": {"/charges/1"}}}
	if diff := cmp.Diff(want, first, sameAnswer); diff != "" || first.CompletedAt.IsZero() {
		t.Errorf("first answer at %v (-want +got):\n%s", first.CompletedAt, diff)
	}
	again, err := b.store.DoBatch(b.ctx, b.key("k"), charging("again"))
	if err != nil || !again.Replayed {
		t.Fatalf("got %+v, %v; want a replay", again, err)
	}
	again.Replayed = false
	if diff := cmp.Diff(first, again); diff != "" {
		t.Errorf("replay differs from the first answer (-first +again):\n%s", diff)
	}
	if n := b.count("SELECT count(*) FROM charges"); n != 1 {
		t.Errorf("%d charges, want 1", n)
	}
	if resp, err := b.store.Do(b.ctx, b.key("k"), mustNotRun(t)); err != nil || !bytes.Equal(resp.Body, first.Body) {
		t.Errorf("Do got %+v, %v; want the same replay", resp, err)
	}
}

// The claim decides whether any of the statements runs, not only the one that answers: they may stand in any order and number.
func TestDoBatchRunsNoStatementBehindAClaimThatWasNotGranted(t *testing.T) {
	b := setup(t)
	work := func(b *idem.Batch) {
		b.Queue("INSERT INTO charges (key) VALUES (@key)", pgx.NamedArgs{"key": "a"})
		b.Queue("SELECT idem.answer(204, '')")
		b.Queue("INSERT INTO charges (key) SELECT $1::text FROM generate_series(1, $2::int)", "b", 2)
	}
	for _, replayed := range []bool{false, true, true} {
		resp, err := b.store.DoBatch(b.ctx, b.key("k"), work)
		if err != nil || resp.Replayed != replayed || resp.Status != 204 || resp.BodyDropped {
			t.Errorf("got %+v, %v; want 204 with Replayed %v", resp, err, replayed)
		}
	}
	if n := b.count("SELECT count(*) FROM charges"); n != 3 {
		t.Errorf("%d charges, want 3", n)
	}
}

// Bytes are kept as they are, NULL in JSON is an answer like any other, and NULL in SQL is none.
func TestDoBatchKeepsWhatIdemAnswerIsGiven(t *testing.T) {
	b := setup(t)
	for name, c := range map[string]struct {
		sql  string
		want idem.Response
	}{
		"JSON null":     {"SELECT idem.answer(200, convert_to('null'::json::text, 'UTF8'))", idem.Response{Status: 200, Body: []byte("null")}},
		"empty body":    {"SELECT idem.answer(204, '')", idem.Response{Status: 204}},
		"status 0":      {"SELECT idem.answer(0, '')", idem.Response{}},
		"every byte":    {`SELECT idem.answer(200, '\x00ff275c0d0a')`, idem.Response{Status: 200, Body: []byte("\x00\xff'\\\r\n")}},
		"above MaxBody": {"SELECT idem.answer(200, convert_to(repeat('a', 100), 'UTF8'))", idem.Response{Status: 200, Body: bytes.Repeat([]byte("a"), 100)}},
		"two lines of a name": {`SELECT idem.answer(header => 'A: 1\015\012B: x: y\015\012A: 2\015\012', body => '', status => 200)`,
			idem.Response{Status: 200, Header: map[string][]string{"A": {"1", "2"}, "B": {"x: y"}}}},
	} {
		store := b.store.With(idem.Policy{MaxBody: 10})
		for _, replayed := range []bool{false, true} {
			c.want.Replayed = replayed
			resp, err := store.DoBatch(b.ctx, b.key(name), queue(c.sql))
			if diff := cmp.Diff(&c.want, resp, sameAnswer); err != nil || diff != "" {
				t.Errorf("%s, Replayed %v: %v (-want +got):\n%s", name, replayed, err, diff)
			}
		}
	}
}

// One statement may decide which answer it is; the other is not recorded.
func TestDoBatchAnswersByACondition(t *testing.T) {
	b := setup(t)
	b.exec("CREATE TABLE accounts (id int, cents int)")
	b.exec("INSERT INTO accounts VALUES (1, 5000)")
	withdraw := func(b *idem.Batch) {
		b.Queue(`WITH paid AS (UPDATE accounts SET cents = cents - $1 WHERE id = 1 AND cents >= $1 RETURNING cents)
			SELECT CASE WHEN EXISTS (SELECT 1 FROM paid) THEN idem.answer(201, '') ELSE idem.answer(402, '') END`, 4900)
	}
	for _, c := range []struct {
		id     string
		status int
	}{{"first", 201}, {"second", 402}, {"first", 201}, {"second", 402}} {
		if resp, err := b.store.DoBatch(b.ctx, b.key(c.id), withdraw); err != nil || resp.Status != c.status {
			t.Errorf("%s got %+v, %v; want %d", c.id, resp, err, c.status)
		}
	}
	if n := b.count("SELECT cents FROM accounts"); n != 100 {
		t.Errorf("%d cents are left, want 100", n)
	}
}

// The statements have the session's own settings, and the COMMIT behind them has ours.
func TestDoBatchGivesItsStatementsTheSettingsOfTheSession(t *testing.T) {
	b := setup(t, func(c *pgxpool.Config) {
		for name, value := range map[string]string{"statement_timeout": "70s", "lock_timeout": "7s", "synchronous_commit": "off",
			"client_connection_check_interval": "0", "default_transaction_isolation": "serializable"} {
			c.ConnConfig.RuntimeParams[name] = value
		}
	})
	b.exec(`CREATE TABLE seen (at text, what text)`)
	b.exec(`CREATE FUNCTION look() RETURNS text LANGUAGE sql AS $$ SELECT concat_ws(' ', current_setting('statement_timeout'), current_setting('lock_timeout'),
		current_setting('client_connection_check_interval'), current_setting('transaction_isolation'), current_setting('synchronous_commit')) $$`)
	b.exec(`CREATE FUNCTION look_at_commit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		IF NEW.at = 'work' THEN INSERT INTO seen VALUES ('commit', look()); END IF; RETURN NULL; END $$`)
	b.exec(`CREATE CONSTRAINT TRIGGER looks AFTER INSERT ON seen DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION look_at_commit()`)
	_, err := b.store.DoBatch(b.ctx, b.key("k"), queue("INSERT INTO seen VALUES ('work', look())",
		"SET LOCAL synchronous_commit = off", "SET LOCAL statement_timeout = '60s'", "SELECT idem.answer(200, '')"))
	if err != nil {
		t.Fatal(err)
	}
	for at, want := range map[string]string{"work": "70s 7s 0 read committed on", "commit": "5s 7s 0 read committed on"} {
		var got string
		if err := b.pool.QueryRow(b.ctx, "SELECT what FROM seen WHERE at = $1", at).Scan(&got); err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", at, got, err, want)
		}
	}
}

// Events say how a batch ended, as those of Do do.
func TestDoBatchIsObserved(t *testing.T) {
	b := setup(t)
	var seen []string
	store := &idem.Store{Pool: b.pool, Observe: func(_ context.Context, e idem.Event) {
		seen = append(seen, fmt.Sprint(e.Op, " ", e.Outcome, " ", e.Attempts))
	}}
	for _, work := range []func(*idem.Batch){queue("SELECT 1/0"), queue("SELECT 1"), charging("k"), charging("k")} {
		_, _ = store.DoBatch(b.ctx, b.key("k"), work)
	}
	want := []string{"dobatch error 1", "dobatch error 1", "dobatch done 1", "dobatch replayed 0"}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}
