package idem_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pgidem/pgidem/idem"
)

var errWork = errors.New("the work's own error")

// endings are the ways in which work fails.
var endings = map[string]func() error{
	"an error":        func() error { return errWork },
	"a panic":         func() error { panic(errWork) },
	"panic(nil)":      func() error { panic(nil) },
	"runtime.Goexit":  func() error { runtime.Goexit(); return nil },
	"a wrapped error": func() error { return fmt.Errorf("charging: %w", errWork) },
}

// ended is how a call in a goroutine of its own ended.
type ended struct {
	resp     *idem.Response
	err      error
	panicked any
	returned bool
}

func run(f func() (*idem.Response, error)) (e ended) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { e.panicked = recover() }()
		e.resp, e.err = f()
		e.returned = true
	}()
	<-done
	return e
}

// wantSame checks that the caller saw what the work did: its error unchanged, its panic going on up.
func (e ended) wantSame(t *testing.T, name string) {
	t.Helper()
	switch name {
	case "an error":
		if e.err != errWork || e.resp != nil { //nolint:errorlint // identity is the claim
			t.Errorf("got %+v, %v; want the work's error, unchanged", e.resp, e.err)
		}
	case "a wrapped error":
		if !errors.Is(e.err, errWork) || e.err.Error() != "charging: "+errWork.Error() || e.resp != nil {
			t.Errorf("got %+v, %v; want the work's error, unchanged", e.resp, e.err)
		}
	case "a panic":
		if e.returned || e.panicked != errWork {
			t.Errorf("got %+v; want the work's panic", e)
		}
	default:
		if e.returned {
			t.Errorf("the call returned %+v, %v", e.resp, e.err)
		}
	}
}

// In atomic mode everything that is not an answer rolls back, frees the key and leaves the pool as it was.
func TestWorkThatFailsInDoLeavesNothing(t *testing.T) {
	b := setup(t)
	for name, end := range endings {
		fails := func(ctx context.Context, tx pgx.Tx) (*idem.Response, error) {
			if err := insertCharge(ctx, tx, "failed"); err != nil {
				t.Error(err)
			}
			return created(), end()
		}
		t.Run("Do/"+name, func(t *testing.T) {
			b := b.on(t)
			run(func() (*idem.Response, error) { return b.store.Do(b.ctx, b.key("k"), fails) }).wantSame(t, name)
			nothingLeft(b)
		})
		t.Run("DoTx/"+name, func(t *testing.T) {
			b := b.on(t)
			tx := b.begin()
			run(func() (*idem.Response, error) { return b.store.DoTx(b.ctx, tx, b.key("k"), fails) }).wantSame(t, name)
			if err := tx.Commit(b.ctx); err != nil {
				t.Errorf("the caller's transaction is not usable: %v", err)
			}
			nothingLeft(b)
		})
	}
}

func nothingLeft(b *bundle) {
	b.t.Helper()
	if n := b.charges("failed"); n != 0 {
		b.t.Errorf("%d charges are left", n)
	}
	if row := b.row(b.key("k")); row != "" {
		b.t.Errorf("the key is not free: %s", row)
	}
	if n := b.pool.Stat().AcquiredConns(); n != 0 {
		b.t.Errorf("%d connections are not given back", n)
	}
	if resp, err := b.store.Do(b.ctx, b.key("k"), charge("next")); err != nil || resp.Replayed {
		b.t.Errorf("the next caller got %+v, %v; want a first answer", resp, err)
	}
}

// In lease mode the effect may have happened: the key is not given back.
func TestWorkThatFailsInHoldLeavesTheOutcomeUnknown(t *testing.T) {
	b := setup(t)
	for name, end := range endings {
		t.Run(name, func(t *testing.T) {
			b := b.on(t)
			run(func() (*idem.Response, error) {
				return b.store.Hold(b.ctx, b.key("k"), func(context.Context, *idem.Lease) (*idem.Response, error) {
					return nil, end()
				})
			}).wantSame(t, name)
			record, err := b.store.Lookup(b.ctx, b.key("k"))
			if err != nil || record.State != idem.StateAbandoned {
				t.Fatalf("the key is %+v, %v; want abandoned at once", record, err)
			}
			_, err = b.store.Hold(b.ctx, b.key("k"), holdMustNotRun(t)) // C04: distinct from in flight
			wantIs(t, err, idem.ErrOutcomeUnknown)
			resp, err := b.newStore(rerun).Hold(b.ctx, b.key("k"), answers(created()))
			if err != nil || resp.Replayed {
				t.Errorf("under StaleRerun: got %+v, %v; want a first answer", resp, err)
			}
		})
	}
}

// Errors of fn come back as they are, also those that look like the Store's own.
func TestErrorsOfFnComeBackUnchanged(t *testing.T) {
	b := setup(t)
	serialization := &pgconn.PgError{Severity: "ERROR", Code: "40001"}
	for name, own := range map[string]error{
		"an error":                           errWork,
		"a serialization failure":            fmt.Errorf("elsewhere: %w", serialization),
		"a nested call in flight":            &idem.KeyError{Op: "do", Err: idem.ErrInFlight},
		"a nested call that is unavailable":  &idem.KeyError{Op: "do", Err: idem.ErrUnavailable},
		"a nested call that lost its lease":  fmt.Errorf("nested: %w", idem.ErrLeaseLost),
		"a nested call whose tx was ended":   fmt.Errorf("nested: %w", idem.ErrTxOwned),
		"a nested call of unknown commit":    fmt.Errorf("nested: %w", idem.ErrCommitUnknown),
		"a nested mismatch":                  fmt.Errorf("nested: %w", idem.ErrMismatch),
		"a cancelled context of fn's own":    context.Canceled,
		"a rolled back transaction of fn's":  pgx.ErrTxCommitRollback,
		"a deadline of fn's own (wrapped)":   fmt.Errorf("calling: %w", context.DeadlineExceeded),
		"a transient error, mark and all":    idem.Transient(errWork),
		"a nested contended key":             idem.ErrContended,
		"a nested key of unknown outcome":    idem.ErrOutcomeUnknown,
		"the lack of a row":                  pgx.ErrNoRows,
		"the transaction is closed, fn says": pgx.ErrTxClosed,
	} {
		t.Run(name, func(t *testing.T) {
			for mode, call := range map[string]func(*bundle) error{
				"Do": func(b *bundle) error {
					_, err := b.store.Do(b.ctx, b.key("do"), func(context.Context, pgx.Tx) (*idem.Response, error) { return nil, own })
					return err
				},
				"DoTx": func(b *bundle) error {
					tx := b.begin()
					_, err := b.store.DoTx(b.ctx, tx, b.key("dotx"), func(context.Context, pgx.Tx) (*idem.Response, error) { return nil, own })
					if commit := tx.Commit(b.ctx); commit != nil {
						b.t.Errorf("the caller's transaction is not usable: %v", commit)
					}
					return err
				},
				"Hold": func(b *bundle) error {
					_, err := b.store.Hold(b.ctx, b.key("hold"), func(context.Context, *idem.Lease) (*idem.Response, error) { return nil, own })
					return err
				},
			} {
				b := b.on(t)
				var event idem.Event
				b.store = b.newStore(idem.Policy{Retention: time.Hour})
				b.store.Observe = func(_ context.Context, e idem.Event) {
					if e.Op != "release" && e.Op != "abandon" {
						event = e
					}
				}
				if got := call(b); got != own { //nolint:errorlint // identity is the claim
					t.Errorf("%s: got %v (%T), want the very error that fn returned", mode, got, got)
				}
				if event.Outcome != idem.OutcomeError {
					t.Errorf("%s: Observe was told %q, want %q: it is fn's own error", mode, event.Outcome, idem.OutcomeError)
				}
			}
		})
	}
}

// A nested call that lost its own transaction does not make the outer one believe that its is gone.
func TestNestedLossOfATransaction(t *testing.T) {
	b := setup(t)
	nested := func(ctx context.Context, _ pgx.Tx) (*idem.Response, error) {
		_, err := b.store.Do(ctx, b.key("inner"), func(ctx context.Context, tx pgx.Tx) (*idem.Response, error) {
			_, err := tx.Conn().Exec(ctx, "ROLLBACK")
			return nil, err
		})
		wantIs(t, err, idem.ErrTxOwned)
		return nil, err
	}
	tx := b.begin()
	if _, err := b.store.DoTx(b.ctx, tx, b.key("outer"), nested); err == nil {
		t.Error("DoTx returned no error")
	}
	if err := tx.Commit(b.ctx); err != nil {
		t.Errorf("the caller's transaction is not usable: %v", err)
	}
	if row := b.row(b.key("outer")); row != "" {
		t.Errorf("DoTx returned an error and left its key behind: %s", row)
	}
}

// A definitive refusal (a declined card): the work's rows are rolled back, the refusal is recorded and replayed.
func TestRefusalIsRecordedWithoutItsRows(t *testing.T) {
	b := setup(t)
	declined := &idem.Response{Status: 402, Body: []byte("declined"), Failed: true}
	for name, decline := range map[string]idem.TxWork{
		"after rows": func(ctx context.Context, tx pgx.Tx) (*idem.Response, error) {
			_, err := charge("k")(ctx, tx)
			return declined, err
		},
		"after an SQL error that it ignores": func(ctx context.Context, tx pgx.Tx) (*idem.Response, error) {
			_, err := charge("k")(ctx, tx)
			_, _ = tx.Exec(ctx, "SELECT 1/0")
			return declined, err
		},
	} {
		check := func(b *bundle, resp *idem.Response, err error) {
			b.t.Helper()
			if err != nil || !resp.Failed || resp.Replayed || resp.Status != 402 {
				b.t.Fatalf("got %+v, %v; want the refusal", resp, err)
			}
			if n := b.charges("k"); n != 0 {
				b.t.Errorf("%d charges, want 0", n)
			}
			again, err := b.store.Do(b.ctx, b.key("k"), mustNotRun(b.t))
			if err != nil || !again.Failed || !again.Replayed || string(again.Body) != "declined" {
				b.t.Errorf("a later caller got %+v, %v; want the refusal replayed", again, err)
			}
			if record, err := b.store.Lookup(b.ctx, b.key("k")); err != nil || record.State != idem.StateFailed {
				b.t.Errorf("the key is %+v, %v; want failed", record, err)
			}
		}
		t.Run("Do/"+name, func(t *testing.T) {
			b := b.on(t)
			resp, err := b.store.Do(b.ctx, b.key("k"), decline)
			check(b, resp, err)
		})
		t.Run("DoTx/"+name, func(t *testing.T) {
			b := b.on(t)
			tx := b.begin()
			if err := insertCharge(b.ctx, tx, name); err != nil {
				t.Fatal(err)
			}
			resp, err := b.store.DoTx(b.ctx, tx, b.key("k"), decline)
			if err := tx.Commit(b.ctx); err != nil {
				t.Errorf("the caller's transaction is not usable: %v", err)
			}
			check(b, resp, err)
			if n := b.charges(name); n != 1 {
				t.Errorf("%d rows of the caller's own, want 1", n)
			}
		})
	}
	t.Run("Hold", func(t *testing.T) {
		b := b.on(t)
		resp, err := b.store.Hold(b.ctx, b.key("k"), answers(declined))
		if err != nil || !resp.Failed || resp.Replayed {
			t.Fatalf("got %+v, %v; want the refusal", resp, err)
		}
		again, err := b.store.Hold(b.ctx, b.key("k"), holdMustNotRun(t))
		if err != nil || !again.Failed || !again.Replayed {
			t.Errorf("a later caller got %+v, %v; want the refusal replayed", again, err)
		}
	})
}

// Between the rollback of a refused Do and the record of its refusal a rival may take the key: then the rival's answer counts.
func TestRefusalGivesWayToARivalThatTookTheKey(t *testing.T) {
	declined := func(ctx context.Context, tx pgx.Tx) (*idem.Response, error) {
		_, err := charge("refused")(ctx, tx)
		return &idem.Response{Status: 402, Failed: true}, err
	}
	setUp := func(t *testing.T, p idem.Policy) (b *bundle, key idem.Key, g *gates, first, rival *session) {
		b = setup(t)
		g = b.gates(3) // first's second INSERT
		return b, b.key("k"), g, g.gated("first", p), b.session("rival")
	}
	t.Run("the rival's answer is returned", func(t *testing.T) {
		b, key, g, first, rival := setUp(t, patient)
		b.inOrder(
			first.does(key, declined), first.works(),
			rival.does(key, charge("k")), b.blocked(1),
			first.goesOn(), g.reached(3),
			rival.works(), rival.goesOn(),
			rival.gets("a first answer", created()),
			g.opens(3),
			first.gets("the rival's answer", replayOf(created())),
		)
		if n, refused := b.charges("k"), b.charges("refused"); n != 1 || refused != 0 {
			t.Errorf("%d charges and %d refused ones, want 1 and 0", n, refused)
		}
	})
	t.Run("a rival that works still is a conflict", func(t *testing.T) {
		hasty := patient
		hasty.Wait = 200 * time.Millisecond
		b, key, g, first, rival := setUp(t, hasty)
		b.inOrder(
			first.does(key, declined), first.works(),
			rival.does(key, charge("k")), b.blocked(1),
			first.goesOn(), g.reached(3),
			rival.works(),
			g.opens(3),
			first.fails(idem.ErrInFlight),
			rival.goesOn(),
			rival.gets("a first answer", created()),
		)
	})
	t.Run("a rival with another request is a mismatch", func(t *testing.T) {
		b, key, g, first, rival := setUp(t, patient)
		other := key
		other.Fingerprint = idem.FingerprintOf([]byte("$9000.00"))
		b.inOrder(
			first.does(key, declined), first.works(),
			rival.does(other, charge("k")), b.blocked(1),
			first.goesOn(), g.reached(3),
			rival.works(), rival.goesOn(),
			rival.gets("a first answer", created()),
			g.opens(3),
			first.fails(idem.ErrMismatch),
		)
	})
	t.Run("a rival that is refused too: the refusal is recorded once", func(t *testing.T) {
		b, key, g, first, rival := setUp(t, patient)
		b.inOrder(
			first.does(key, declined), first.works(),
			rival.does(key, declined), b.blocked(1),
			first.goesOn(), g.reached(3),
			rival.works(), rival.goesOn(),
			rival.gets("the refusal", &idem.Response{Status: 402, Failed: true}),
			g.opens(3),
			first.gets("the refusal, replayed", &idem.Response{Status: 402, Failed: true, Replayed: true}),
		)
	})
}

// An answer that cannot be recorded is refused before it is too late.
func TestAnswerThatCannotBeRecordedIsAnErrorAndNothingStands(t *testing.T) {
	b := setup(t)
	for _, status := range []int{-1, 1000} {
		bad := func(ctx context.Context, tx pgx.Tx) (*idem.Response, error) {
			return &idem.Response{Status: status}, insertCharge(ctx, tx, "failed")
		}
		if resp, err := b.store.Do(b.ctx, b.key("k"), bad); err == nil || resp != nil {
			t.Errorf("status %d: got %+v, %v; want an error", status, resp, err)
		}
		nothingLeft(b)
		b.delete(b.key("k"))
	}
}

// A client that hangs up while the work runs changes nothing once the work is done: the answer is recorded.
func TestC02ClientThatHangsUpDuringDoFindsItsAnswer(t *testing.T) {
	b := setup(t)
	for mode, call := range map[string]func(context.Context, idem.Key, idem.TxWork) error{
		"Do": func(ctx context.Context, key idem.Key, fn idem.TxWork) error {
			_, err := b.store.Do(ctx, key, fn)
			return err
		},
		"DoTx": func(ctx context.Context, key idem.Key, fn idem.TxWork) error {
			tx := b.begin()
			_, err := b.store.DoTx(ctx, tx, key, fn)
			return errors.Join(err, tx.Commit(b.ctx))
		},
	} {
		t.Run(mode, func(t *testing.T) {
			b := b.on(t)
			ctx, hangUp := context.WithCancel(b.ctx)
			err := call(ctx, b.key("k"), func(ctx context.Context, tx pgx.Tx) (*idem.Response, error) {
				defer hangUp()
				return charge(mode)(ctx, tx)
			})
			if err != nil {
				t.Fatal(err)
			}
			if again, err := b.store.Do(b.ctx, b.key("k"), mustNotRun(t)); err != nil || !again.Replayed || b.charges(mode) != 1 {
				t.Errorf("got %+v, %v and %d charges; want a replay of one", again, err, b.charges(mode))
			}
		})
	}
}
