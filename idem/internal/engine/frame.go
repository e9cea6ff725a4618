package engine

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pgidem/pgidem/gen"
)

// frame is what a claim's statements stand in: a transaction of our own that stays open for the work, a savepoint in the
// user's, or a transaction a trip.
type frame interface {
	open(*Trip)          // the words before the statement
	close(*Trip)         // the words after it
	undo() string        // the words that end what open opened and keep nothing
	sent(pgx.Tx, error)  // what became of the trip, and the transaction that open began, nil if it did not
	idle() time.Duration // how long a client may be silent in it, 0: as the session has it
}

// transaction is atomic mode's own: begun with the claim, committed with the completion.
type transaction struct {
	lease time.Duration
	begun bool
	tx    pgx.Tx
}

func (f *transaction) open(t *Trip) {
	if !f.begun {
		t.Begin()
		f.begun = true
	}
}

func (f *transaction) close(t *Trip) { restore(t) }

func (f *transaction) undo() string {
	f.begun = false
	return "ROLLBACK"
}

func (f *transaction) sent(tx pgx.Tx, _ error) {
	if tx != nil {
		f.tx = tx
	}
}

func (f *transaction) idle() time.Duration { return f.lease }

// savepoint is DoTx's: any error rolls back to it and leaves the user's transaction as it was. A second one stands between
// claim and work, so that a refusal undoes the work and keeps the key.
type savepoint struct{ set bool }

const (
	releaseSavepoint = "RELEASE SAVEPOINT idem_claim"
	undoSavepoint    = "ROLLBACK TO SAVEPOINT idem_claim; " + releaseSavepoint
	undoWork         = "ROLLBACK TO SAVEPOINT idem_work"
)

func (f *savepoint) open(t *Trip) {
	if !f.set {
		t.Word("SAVEPOINT idem_claim")
		f.set = true
	}
}

func (f *savepoint) close(t *Trip) {
	restore(t)
	t.Word("SAVEPOINT idem_work")
}

func (f *savepoint) undo() string {
	f.set = false
	return undoSavepoint
}

func (f *savepoint) sent(pgx.Tx, error) {}

func (f *savepoint) idle() time.Duration { return 0 }

// single is lease mode's: each trip is a transaction, committed before the work starts.
type single struct{}

func (single) open(t *Trip) { t.Begin() }

func (single) close(t *Trip) { t.Commit() }

func (single) undo() string { return "ROLLBACK" }

func (single) sent(pgx.Tx, error) {}

func (single) idle() time.Duration { return 0 }

func restore(t *Trip) {
	t.Add(func(ctx context.Context, db gen.DBTX) error { return gen.New().SettingsRestore(ctx, db) })
}
