package idem_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/idem"
)

// enders are the ways by which work may try to end the transaction that it was given.
var enders = map[string]func(context.Context, pgx.Tx) error{
	"Commit":                   func(ctx context.Context, tx pgx.Tx) error { return tx.Commit(ctx) },
	"Rollback":                 func(ctx context.Context, tx pgx.Tx) error { return tx.Rollback(ctx) },
	"Exec COMMIT":              ending("COMMIT"),
	"Exec ROLLBACK":            ending("ROLLBACK"),
	"Exec END":                 ending("end"),
	"Exec ABORT":               ending("Abort Work"),
	"Exec ROLLBACK AND CHAIN":  ending("ROLLBACK AND CHAIN"),
	"Exec PREPARE TRANSACTION": ending("PREPARE TRANSACTION 'x'"),
	"several statements":       ending("SELECT 1; COMMIT; SELECT 2"),
	"after a comment":          ending("/* a; b */ -- c\n COMMIT"),
	"after quotes":             ending(`SELECT ';', $$ ; $$, ";" FROM (SELECT 1 AS ";") AS s; COMMIT`),
	"Query": func(ctx context.Context, tx pgx.Tx) error {
		rows, err := tx.Query(ctx, "COMMIT")
		if rows != nil {
			rows.Close()
			err = errors.Join(err, rows.Err())
		}
		return err
	},
	"QueryRow": func(ctx context.Context, tx pgx.Tx) error { return tx.QueryRow(ctx, "COMMIT").Scan() },
	"Prepare": func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Prepare(ctx, "innocent", "COMMIT")
		return err
	},
	"a batch": func(ctx context.Context, tx pgx.Tx) error {
		batch := &pgx.Batch{}
		batch.Queue("SELECT 1")
		batch.Queue("COMMIT")
		return tx.SendBatch(ctx, batch).Close()
	},
	"a nested transaction's SQL": func(ctx context.Context, tx pgx.Tx) error {
		nested, err := tx.Begin(ctx)
		if err != nil {
			return err
		}
		_, err = nested.Exec(ctx, "COMMIT")
		return err
	},
}

func ending(sql string) func(context.Context, pgx.Tx) error {
	return func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, sql)
		return err
	}
}

// The transaction is the Store's: whoever tries to end it is refused, and the call fails even if fn ignores the refusal.
func TestWorkCannotEndItsTransaction(t *testing.T) {
	b := setup(t)
	for name, end := range enders {
		attempt := func(ctx context.Context, tx pgx.Tx) (*idem.Response, error) {
			resp, err := charge(name)(ctx, tx)
			if refused := end(ctx, tx); !errors.Is(refused, idem.ErrTxOwned) {
				t.Errorf("%s: the work was told %v, want ErrTxOwned", name, refused)
			}
			return resp, err
		}
		t.Run("Do/"+name, func(t *testing.T) {
			b := b.on(t)
			resp, err := b.store.Do(b.ctx, b.key("k"), attempt)
			nothingStands(b, name, resp, err)
		})
		t.Run("DoTx/"+name, func(t *testing.T) {
			b := b.on(t)
			tx := b.begin()
			resp, err := b.store.DoTx(b.ctx, tx, b.key("k"), attempt)
			if commit := tx.Commit(b.ctx); commit != nil {
				t.Errorf("the caller's transaction is not usable: %v", commit)
			}
			nothingStands(b, name, resp, err)
		})
	}
}

func nothingStands(b *bundle, name string, resp *idem.Response, err error) {
	b.t.Helper()
	wantIs(b.t, err, idem.ErrTxOwned)
	keyError(b.t, err)
	if resp != nil {
		b.t.Errorf("an answer left: %+v", resp)
	}
	if n := b.charges(name); n != 0 {
		b.t.Errorf("%d charges, want 0", n)
	}
	if row := b.row(b.key("k")); row != "" {
		b.t.Errorf("the key is not free: %s", row)
	}
}

// What is not an end of the transaction is let through.
func TestWorkMayUseItsTransactionAsAnyOther(t *testing.T) {
	b := setup(t)
	for name, use := range map[string]func(context.Context, pgx.Tx) error{
		"a nested transaction that commits": func(ctx context.Context, tx pgx.Tx) error {
			return pgx.BeginFunc(ctx, tx, func(nested pgx.Tx) error { return insertCharge(ctx, nested, "kept") })
		},
		"a nested transaction that rolls back": func(ctx context.Context, tx pgx.Tx) error {
			nested, err := tx.Begin(ctx)
			if err != nil {
				return err
			}
			return errors.Join(insertCharge(ctx, nested, "undone"), nested.Rollback(ctx), insertCharge(ctx, tx, "kept"))
		},
		"nested three deep": func(ctx context.Context, tx pgx.Tx) error {
			return pgx.BeginFunc(ctx, tx, func(tx pgx.Tx) error {
				return pgx.BeginFunc(ctx, tx, func(tx pgx.Tx) error {
					undone := errors.New("undone")
					if err := pgx.BeginFunc(ctx, tx, func(tx pgx.Tx) error {
						return errors.Join(insertCharge(ctx, tx, "undone"), undone)
					}); !errors.Is(err, undone) {
						return err
					}
					return insertCharge(ctx, tx, "kept")
				})
			})
		},
		"savepoints by SQL": func(ctx context.Context, tx pgx.Tx) error {
			for _, sql := range []string{
				"SAVEPOINT s", "INSERT INTO charges (key) VALUES ('undone')", "ROLLBACK TO SAVEPOINT s", "RELEASE SAVEPOINT s",
				"INSERT INTO charges (key) VALUES ('kept')",
			} {
				if _, err := tx.Exec(ctx, sql); err != nil {
					return err
				}
			}
			return nil
		},
		"CopyFrom": func(ctx context.Context, tx pgx.Tx) error {
			n, err := tx.CopyFrom(ctx, pgx.Identifier{"charges"}, []string{"key"}, pgx.CopyFromRows([][]any{{"kept"}}))
			if n != 1 {
				err = errors.Join(err, errors.New("CopyFrom copied another number of rows than 1"))
			}
			return err
		},
		"a batch": func(ctx context.Context, tx pgx.Tx) error {
			batch := &pgx.Batch{}
			batch.Queue("SELECT 1")
			batch.Queue("INSERT INTO charges (key) VALUES ($1)", "kept")
			return tx.SendBatch(ctx, batch).Close()
		},
		"a prepared statement": func(ctx context.Context, tx pgx.Tx) error {
			if _, err := tx.Prepare(ctx, "keep", "INSERT INTO charges (key) VALUES ($1)"); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, "keep", "kept")
			return err
		},
		"rows read to the end": func(ctx context.Context, tx pgx.Tx) error {
			rows, err := tx.Query(ctx, "SELECT generate_series(1, 3)")
			if err != nil {
				return err
			}
			if got, err := pgx.CollectRows(rows, pgx.RowTo[int]); err != nil || len(got) != 3 {
				return errors.Join(err, errors.New("not 3 rows"))
			}
			return insertCharge(ctx, tx, "kept")
		},
		"words that only look like an end": func(ctx context.Context, tx pgx.Tx) error {
			_, err := tx.Exec(ctx, `/* COMMIT; */ INSERT INTO charges (key) SELECT 'kept' -- COMMIT
				WHERE ';COMMIT' <> $$;ROLLBACK$$ AND CASE WHEN true THEN true END`)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := b.on(t)
			b.exec("DELETE FROM charges")
			resp, err := b.store.Do(b.ctx, b.key("k"), func(ctx context.Context, tx pgx.Tx) (*idem.Response, error) {
				return created(), use(ctx, tx)
			})
			if err != nil || resp.Status != 201 {
				t.Fatalf("got %+v, %v; want 201", resp, err)
			}
			if kept, undone := b.charges("kept"), b.charges("undone"); kept != 1 || undone != 0 {
				t.Errorf("%d rows kept and %d undone ones left; want 1 and 0", kept, undone)
			}
		})
	}
}

func insertCharge(ctx context.Context, tx pgx.Tx, key string) error {
	_, err := tx.Exec(ctx, "INSERT INTO charges (key) VALUES ($1)", key)
	return err
}

// Large objects go on below the guard, so they are refused.
func TestWorkWithLargeObjectsIsRolledBack(t *testing.T) {
	b := setup(t)
	resp, err := b.store.Do(b.ctx, b.key("k"), func(ctx context.Context, tx pgx.Tx) (*idem.Response, error) {
		objects := tx.LargeObjects()
		if _, err := objects.Create(ctx, 0); err != nil {
			return nil, err
		}
		return charge("k")(ctx, tx)
	})
	nothingStands(b, "k", resp, err)
	if n := b.count("SELECT count(*) FROM pg_largeobject_metadata"); n != 0 {
		t.Errorf("%d large objects, want 0", n)
	}
}

// What slips past the guard through the bare connection is found afterwards: no answer, and a key that operators see.
func TestTransactionEndedPastTheGuardIsNoAnswer(t *testing.T) {
	b := setup(t)
	past := func(sql string) idem.TxWork {
		return func(ctx context.Context, tx pgx.Tx) (*idem.Response, error) {
			resp, err := charge(sql)(ctx, tx)
			if _, err := tx.Conn().Exec(ctx, sql); err != nil {
				t.Error(err)
			}
			return resp, err
		}
	}
	t.Run("COMMIT leaves a key whose outcome is unknown", func(t *testing.T) {
		b := b.on(t)
		resp, err := b.store.Do(b.ctx, b.key("k"), past("COMMIT"))
		wantIs(t, err, idem.ErrTxOwned)
		if resp != nil {
			t.Errorf("an answer left: %+v", resp)
		}
		_, err = b.store.Do(b.ctx, b.key("k"), mustNotRun(t))
		wantIs(t, err, idem.ErrOutcomeUnknown)
		if n := b.count("SELECT count(*) FROM idem.keys WHERE tenant_id = $1 AND leased", b.key("k").Tenant); n != 1 {
			t.Error("operators do not see the key")
		}
	})
	t.Run("ROLLBACK leaves nothing", func(t *testing.T) {
		b := b.on(t)
		resp, err := b.store.Do(b.ctx, b.key("k"), past("ROLLBACK"))
		nothingStands(b, "ROLLBACK", resp, err)
	})
	t.Run("DoTx", func(t *testing.T) {
		b := b.on(t)
		tx := b.begin()
		resp, err := b.store.DoTx(b.ctx, tx, b.key("k"), past("ROLLBACK"))
		_ = tx.Rollback(b.ctx)
		nothingStands(b, "ROLLBACK", resp, err)
	})
}

// A transaction kept beyond fn's return is closed to it.
func TestTransactionIsClosedToTheWorkAfterItReturned(t *testing.T) {
	b := setup(t)
	var kept, nested pgx.Tx
	_, err := b.store.Do(b.ctx, b.key("k"), func(ctx context.Context, tx pgx.Tx) (resp *idem.Response, err error) {
		kept = tx
		nested, err = tx.Begin(ctx)
		return created(), err
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, tx := range map[string]pgx.Tx{"the transaction": kept, "a nested one left open": nested} {
		if _, err := tx.Exec(b.ctx, "INSERT INTO charges (key) VALUES ('late')"); !errors.Is(err, pgx.ErrTxClosed) {
			t.Errorf("%s: Exec: %v", name, err)
		}
		if err := tx.QueryRow(b.ctx, "SELECT 1").Scan(new(int)); !errors.Is(err, pgx.ErrTxClosed) {
			t.Errorf("%s: QueryRow: %v", name, err)
		}
		if _, err := tx.Begin(b.ctx); !errors.Is(err, pgx.ErrTxClosed) {
			t.Errorf("%s: Begin: %v", name, err)
		}
		if err := tx.Commit(b.ctx); !errors.Is(err, pgx.ErrTxClosed) {
			t.Errorf("%s: Commit: %v", name, err)
		}
		if err := tx.Rollback(b.ctx); !errors.Is(err, pgx.ErrTxClosed) { // so a deferred Rollback is safe
			t.Errorf("%s: Rollback: %v", name, err)
		}
		if _, err := tx.CopyFrom(b.ctx, pgx.Identifier{"charges"}, []string{"key"}, pgx.CopyFromRows([][]any{{"late"}})); !errors.Is(err, pgx.ErrTxClosed) {
			t.Errorf("%s: CopyFrom: %v", name, err)
		}
		batch := &pgx.Batch{}
		batch.Queue("SELECT 1")
		if err := tx.SendBatch(b.ctx, batch).Close(); !errors.Is(err, pgx.ErrTxClosed) {
			t.Errorf("%s: SendBatch: %v", name, err)
		}
	}
}

// A result that fn leaves open would swallow the completion.
func TestWorkThatLeavesAResultOpenFails(t *testing.T) {
	b := setup(t)
	leaves := func(ctx context.Context, tx pgx.Tx) (*idem.Response, error) {
		_, err := tx.Query(ctx, "INSERT INTO charges (key) SELECT 'open' FROM generate_series(1, 3) RETURNING id")
		return created(), err
	}
	t.Run("Do", func(t *testing.T) {
		b := b.on(t)
		if resp, err := b.store.Do(b.ctx, b.key("k"), leaves); err == nil || resp != nil {
			t.Errorf("got %+v, %v; want an error", resp, err)
		}
		b.eventually(func() bool { return b.charges("open") == 0 && b.row(b.key("k")) == "" }, "rows are left")
	})
	t.Run("DoTx", func(t *testing.T) {
		b := b.on(t)
		tx := b.begin()
		if resp, err := b.store.DoTx(b.ctx, tx, b.key("k"), leaves); err == nil || resp != nil {
			t.Errorf("got %+v, %v; want an error", resp, err)
		}
		_ = tx.Rollback(b.ctx)
		if n := b.charges("open"); n != 0 || b.row(b.key("k")) != "" {
			t.Errorf("%d rows and %q are left", n, b.row(b.key("k")))
		}
	})
}

// Settings that the claim changes for itself are not fn's.
func TestWorkHasTheSettingsOfItsSession(t *testing.T) {
	b := setup(t, func(c *pgxpool.Config) { c.ConnConfig.RuntimeParams["statement_timeout"] = "17s" })
	store := b.newStore(idem.Policy{Retention: time.Hour, Lease: 33 * time.Second})
	_, err := store.Do(b.ctx, b.key("k"), func(ctx context.Context, tx pgx.Tx) (*idem.Response, error) {
		for name, want := range map[string]string{
			"statement_timeout": "17s", "lock_timeout": "0", "client_connection_check_interval": "0",
			"transaction_isolation": "read committed", "synchronous_commit": "on", "idle_in_transaction_session_timeout": "33s",
		} {
			var got string
			if err := tx.QueryRow(ctx, "SELECT current_setting($1)", name).Scan(&got); err != nil || got != want {
				t.Errorf("%s is %q, %v; want %q", name, got, err, want)
			}
		}
		return created(), nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// synchronous_commit off would send answers that a crash forgets; what is stricter than on stays.
func TestSynchronousCommitIsRaisedFromOff(t *testing.T) {
	b := setup(t)
	for session, want := range map[string]string{"off": "on", "on": "on", "local": "local", "remote_apply": "remote_apply"} {
		t.Run(session, func(t *testing.T) {
			b := b.on(t)
			store := b.process(idem.Policy{}, func(c *pgxpool.Config) { c.ConnConfig.RuntimeParams["synchronous_commit"] = session })
			_, err := store.Do(b.ctx, b.key("k"), func(ctx context.Context, tx pgx.Tx) (*idem.Response, error) {
				var got string
				if err := tx.QueryRow(ctx, "SELECT current_setting('synchronous_commit')").Scan(&got); err != nil || got != want {
					t.Errorf("synchronous_commit is %q, %v; want %q", got, err, want)
				}
				return created(), nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}
