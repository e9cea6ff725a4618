package idemhttp_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"

	"github.com/jackc/pgx/v5"
)

// C06: an answer that its transaction does not stand behind reaches nobody. The client is told of a failure, nothing of the
// transaction is left, and the key is free: the same request, handled well, runs.
func TestC06AnswerWhoseTransactionFailsIsNotSent(t *testing.T) {
	s := openShop(t)
	s.exec("CREATE TABLE receipts (note text UNIQUE, line text UNIQUE DEFERRABLE INITIALLY DEFERRED)")
	s.exec("INSERT INTO receipts VALUES ('taken', 'taken')")
	insert := func(ctx context.Context, tx pgx.Tx, note, line string) error {
		_, err := tx.Exec(ctx, "INSERT INTO receipts VALUES ($1, $2)", note, line)
		return err
	}
	paid := func(w http.ResponseWriter) {
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, "paid")
	}
	for name, fault := range map[string]func(w http.ResponseWriter, r *http.Request, tx pgx.Tx) error{
		"a-swallowed-SQL-error": func(w http.ResponseWriter, r *http.Request, tx pgx.Tx) error {
			if err := insert(r.Context(), tx, "taken", "free"); err == nil {
				t.Error("a unique index let a duplicate in")
			}
			paid(w)
			return nil
		},
		"b-flush-and-an-error": func(w http.ResponseWriter, r *http.Request, tx pgx.Tx) error {
			paid(w)
			_ = http.NewResponseController(w).Flush()
			w.(http.Flusher).Flush()
			return errors.New("the printer is on fire")
		},
		"b-flush-and-a-swallowed-SQL-error": func(w http.ResponseWriter, r *http.Request, tx pgx.Tx) error {
			paid(w)
			_ = http.NewResponseController(w).Flush()
			_ = insert(r.Context(), tx, "taken", "free")
			return nil
		},
		"b-flush-and-a-constraint-at-COMMIT": func(w http.ResponseWriter, r *http.Request, tx pgx.Tx) error {
			paid(w)
			_ = http.NewResponseController(w).Flush()
			return insert(r.Context(), tx, "free", "taken")
		},
		"c-constraint-at-COMMIT": func(w http.ResponseWriter, r *http.Request, tx pgx.Tx) error {
			if err := insert(r.Context(), tx, "free", "taken"); err != nil {
				t.Errorf("a deferred constraint was not deferred: %v", err)
			}
			paid(w)
			return nil
		},
		"a-result-left-open": func(w http.ResponseWriter, r *http.Request, tx pgx.Tx) error {
			_, err := tx.Query(r.Context(), "SELECT 1")
			paid(w)
			return err
		},
		"COMMIT-by-the-handler": func(w http.ResponseWriter, r *http.Request, tx pgx.Tx) error {
			_ = tx.Commit(r.Context())
			paid(w)
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			before, runs := s.charges(), 0
			site := s.open(s.m.HandlerTx(func(w http.ResponseWriter, r *http.Request, tx pgx.Tx) error {
				s.insert(r.Context(), tx)
				if runs++; runs == 1 {
					return fault(w, r, tx)
				}
				paid(w)
				return nil
			}))
			failed := s.send(newRequest(site.charges(), name, dollars))
			s.wantProblem(failed, 500, "failed")
			if state := s.stateOf(name); state != "" || s.charges() != before {
				t.Errorf("the key is %q after %d charges, want none of either", state, s.charges()-before)
			}
			first := s.send(newRequest(site.charges(), name, dollars))
			s.wantFirst(first, 201)
			s.wantReplay(s.send(newRequest(site.charges(), name, dollars)), first)
			if n := s.charges() - before; n != 1 || runs != 2 {
				t.Errorf("%d charges in %d runs, want 1 in 2", n, runs)
			}
		})
	}
}
