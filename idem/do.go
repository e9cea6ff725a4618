package idem

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/pgidem/pgidem/idem/internal/engine"
)

// TxWork is the work of atomic mode: its effect is rows written through tx. It gets a full pgx.Tx that it cannot end. A nil
// Response with a nil error means &Response{}. An error rolls everything back and frees the key; a Response with Failed set
// rolls the work back and is recorded.
type TxWork func(ctx context.Context, tx pgx.Tx) (*Response, error)

// Do makes fn's rows and the key's answer one transaction: both commit or neither does, so the effect happens exactly once
// whatever crashes, and every later caller gets the first answer. It needs one connection of the pool and two round trips
// besides fn's own (articles 000 and 003); DoBatch needs one for everything.
//
// fn may run again for a key whose first run was rolled back, so what it does outside tx can repeat: use Hold for that.
// A duplicate waits up to Policy.Wait for the first to commit, then gets ErrInFlight.
//
// An answer is returned only once its commit is confirmed. ErrCommitUnknown says that it could be neither confirmed nor
// excluded: the same key will tell. An error of fn comes back unchanged, everything else as *KeyError.
func (s *Store) Do(ctx context.Context, key Key, fn TxWork) (*Response, error) {
	return s.atomic(ctx, "do", key, func(o *operation) (engine.Row, engine.Verdict, error) {
		return o.shared.engine.Do(ctx, o.row, o.budget(), o.work(fn))
	})
}

// atomic is a call with a transaction of its own: it waits in memory for its turn, and shares what run has committed.
func (s *Store) atomic(ctx context.Context, name string, key Key, run func(*operation) (engine.Row, engine.Verdict, error)) (*Response, error) {
	o, err := s.open(ctx, name, key, false)
	if err != nil {
		return nil, err
	}
	defer o.leave()
	turn, resp, err := o.enter(ctx)
	if turn == nil {
		return o.close(ctx, resp, err)
	}
	defer func() { turn.end(recordedOnly(resp)) }()
	resp, settled, err := o.recall(ctx)
	if !settled {
		resp, err = o.answer(run(o))
		o.remember(resp)
	}
	return o.close(ctx, resp, err)
}

// DoTx returns an answer that is one only once the caller has committed tx. It runs claim, fn and completion under a savepoint
// of tx: any error rolls back to it and leaves tx usable, its settings its own, and no key behind (synchronous_commit excepted,
// which stays raised from off to on).
//
// It never waits in memory: PostgreSQL must see a deadlock between two transactions that take keys in opposite order. Under
// REPEATABLE READ and SERIALIZABLE a rival's commit is SQLSTATE 40001, returned as it is, as is a deadlock: run the whole
// transaction again.
func (s *Store) DoTx(ctx context.Context, tx pgx.Tx, key Key, fn TxWork) (*Response, error) {
	o, err := s.open(ctx, "dotx", key, false)
	if err != nil {
		return nil, err
	}
	defer o.leave()
	v, err := o.shared.engine.DoTx(ctx, tx, o.row, o.budget(), o.work(fn))
	resp, err := o.answer(o.row, v, err)
	return o.close(ctx, resp, err)
}

// work is fn as the engine runs it.
func (o *operation) work(fn TxWork) engine.Work {
	return func(ctx context.Context, tx pgx.Tx) (undo bool, err error) {
		resp, err := fn(withinTx(withHeld(ctx, o.shared, o.roomKey())), tx)
		if err != nil {
			return false, &workError{err}
		}
		if resp == nil {
			resp = new(Response)
		}
		o.row.answer = resp
		return resp.Failed, checkAnswer(resp)
	}
}
