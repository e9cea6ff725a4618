package idem_test

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pgidem/pgidem/idem"
)

// P4 Durable before visible. No answer leaves before the commit that records its key as finished is confirmed.
func TestP4DurableBeforeVisible(t *testing.T) {
	b := setup(t)
	// COMMIT itself waits in this trigger, for the lock that the test holds.
	b.exec(`CREATE FUNCTION wait_in_commit() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN
			PERFORM pg_advisory_xact_lock_shared(1);
			RETURN NULL;
		END $$`)
	b.exec(`CREATE CONSTRAINT TRIGGER commit_waits AFTER INSERT ON charges DEFERRABLE INITIALLY DEFERRED
		FOR EACH ROW EXECUTE FUNCTION wait_in_commit()`)
	gate := b.begin()
	if _, err := gate.Exec(b.ctx, "SELECT pg_advisory_xact_lock(1)"); err != nil {
		t.Fatal(err)
	}
	key := b.key("k")
	first := b.session("first")
	inMemory, elsewhere := b.sharing("a caller in the same process", first.store), b.session("a caller in another process")
	nobodyHasAnAnswer := do("nobody has an answer", func() {
		for _, s := range []*session{first, inMemory, elsewhere} {
			select {
			case <-s.ended:
				t.Fatalf("%s has an answer before the commit: %+v, %v", s.name, s.resp, s.err)
			default:
			}
		}
		if n := b.charges("k"); n != 0 {
			t.Fatalf("%d charges are visible, want 0", n)
		}
	})
	b.inOrder(
		first.does(key, charge("k")), first.works(),
		inMemory.does(key, mustNotRun(t)), b.queued(first.store, key, 1),
		elsewhere.does(key, mustNotRun(t)), b.blocked(1),
		first.goesOn(),
		do("COMMIT has waited for a while", func() {
			b.eventually(func() bool {
				return b.count(`SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'advisory'
					AND query_start < clock_timestamp() - interval '300 ms'`) == 1
			}, "COMMIT never waited")
		}),
		nobodyHasAnAnswer,
		do("the commit ends", func() { b.rollback(gate) }),
		first.gets("its own answer", created()),
		inMemory.gets("a replay", replayOf(created())),
		elsewhere.gets("a replay", replayOf(created())),
	)
}

// C06 a: the work ignores an SQL error, so its transaction can only roll back, and says 201.
func TestC06SwallowedSQLErrorIsAnError(t *testing.T) {
	b := setup(t)
	b.exec("CREATE UNIQUE INDEX ON charges (key) WHERE key = 'twice'")
	b.exec("INSERT INTO charges (key) VALUES ('twice')")
	swallows := func(ctx context.Context, tx pgx.Tx) (*idem.Response, error) {
		resp, err := charge("k")(ctx, tx)
		_, _ = tx.Exec(ctx, "INSERT INTO charges (key) VALUES ('twice')")
		return resp, err
	}
	check := func(t *testing.T, resp *idem.Response, err error) {
		t.Helper()
		wantIs(t, err, pgx.ErrTxCommitRollback)
		if resp != nil {
			t.Errorf("an answer left: %+v", resp)
		}
		if n := b.charges("k"); n != 0 {
			t.Errorf("%d charges, want 0", n)
		}
		if row := b.row(b.on(t).key("k")); row != "" {
			t.Errorf("the key is not free: %s", row)
		}
	}
	t.Run("Do", func(t *testing.T) {
		resp, err := b.store.Do(b.ctx, b.on(t).key("k"), swallows)
		check(t, resp, err)
	})
	t.Run("DoTx", func(t *testing.T) {
		tx := b.begin()
		resp, err := b.store.DoTx(b.ctx, tx, b.on(t).key("k"), swallows)
		if commit := tx.Commit(b.ctx); commit != nil {
			t.Errorf("the user's transaction is not usable: %v", commit)
		}
		check(t, resp, err)
	})
	t.Run("the key is free again", func(t *testing.T) {
		resp, err := b.store.Do(b.ctx, b.on(t).key("k"), charge("k"))
		if err != nil || resp.Replayed {
			t.Fatalf("got %+v, %v; want a first answer", resp, err)
		}
	})
}

// A savepoint of the work's own makes an SQL error harmless.
func TestSQLErrorUnderASavepointOfTheWorkIsForgiven(t *testing.T) {
	b := setup(t)
	resp, err := b.store.Do(b.ctx, b.key("k"), func(ctx context.Context, tx pgx.Tx) (*idem.Response, error) {
		if err := pgx.BeginFunc(ctx, tx, func(nested pgx.Tx) error {
			_, err := nested.Exec(ctx, "SELECT 1/0")
			return err
		}); sqlState(err) != "22012" {
			t.Errorf("got %v, want division by zero", err)
		}
		return charge("k")(ctx, tx)
	})
	if err != nil || resp.Status != 201 || b.charges("k") != 1 {
		t.Errorf("got %+v, %v and %d charges; want 201 and 1", resp, err, b.charges("k"))
	}
}

// C06 c: a deferred constraint fails at COMMIT.
func TestC06ConstraintThatFailsAtCommitGivesNoAnswer(t *testing.T) {
	b := setup(t)
	b.exec("CREATE TABLE customers (id int PRIMARY KEY)")
	b.exec("CREATE TABLE orders (customer int REFERENCES customers DEFERRABLE INITIALLY DEFERRED)")
	key := b.key("k")
	runs := 0
	order := func(ctx context.Context, tx pgx.Tx) (*idem.Response, error) {
		runs++
		_, err := tx.Exec(ctx, "INSERT INTO orders VALUES (7)")
		return created(), err
	}
	leader := b.session("leader")
	waiter := b.sharing("waiter", leader.store)
	b.inOrder(
		leader.does(key, order), leader.works(),
		waiter.does(key, charge("k")), b.queued(leader.store, key, 1),
		leader.goesOn(),
		do("leader ends", leader.wait),
		waiter.works(), // it leads next, and nothing was shared
		waiter.goesOn(),
		waiter.gets("a first answer", created()),
	)
	var pg *pgconn.PgError
	if !errors.As(leader.err, &pg) || pg.Code != "23503" {
		t.Errorf("got %v, want the constraint's error", leader.err)
	}
	if leader.resp != nil {
		t.Errorf("an answer left: %+v", leader.resp)
	}
	if n := b.count("SELECT count(*) FROM orders"); n != 0 || runs != 1 {
		t.Errorf("%d orders after %d runs, want 0 after 1", n, runs)
	}
	if errors.Is(leader.err, idem.ErrCommitUnknown) || errors.Is(leader.err, idem.ErrUnavailable) {
		t.Errorf("the outcome is known for certain, and the error says %v", leader.err)
	}
}

// In DoTx the same constraint fails when the user commits; until then nothing is an answer.
func TestDoTxIsAnAnswerOnlyOnceTheCallerHasCommitted(t *testing.T) {
	b := setup(t)
	for name, end := range map[string]func(pgx.Tx) error{
		"rolled back": func(tx pgx.Tx) error { return tx.Rollback(b.ctx) },
		"not commitable": func(tx pgx.Tx) error {
			_, _ = tx.Exec(b.ctx, "SELECT 1/0")
			if err := tx.Commit(b.ctx); !errors.Is(err, pgx.ErrTxCommitRollback) {
				return err
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := b.on(t)
			tx := b.begin()
			if _, err := b.store.DoTx(b.ctx, tx, b.key("k"), charge(name)); err != nil {
				t.Fatal(err)
			}
			if err := end(tx); err != nil {
				t.Fatal(err)
			}
			if row := b.row(b.key("k")); row != "" {
				t.Errorf("a key is left: %s", row)
			}
			if resp, err := b.store.Do(b.ctx, b.key("k"), charge(name)); err != nil || resp.Replayed {
				t.Errorf("got %+v, %v; want a first answer", resp, err)
			}
			if n := b.charges(name); n != 1 {
				t.Errorf("%d charges, want 1", n)
			}
		})
	}
}
