package idemhttp

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/jackc/pgx/v5"

	"github.com/pgidem/pgidem/idem"
)

// TxHandlerFunc is a handler of atomic mode. What it writes through tx and what it answers commit together. An error rolls both
// back and is answered 500 without its text; whatever the handler wrote to w is then gone. It must not end tx.
type TxHandlerFunc func(w http.ResponseWriter, r *http.Request, tx pgx.Tx) error

// HandlerTx runs fn in atomic mode: for effects that are rows of the Store's database. Key, rows and answer are one transaction,
// and the answer is sent once it has committed. An answer that Outcome does not keep rolls back and frees the key, and so does a
// panic, which goes on up. An answer from 400 on that is kept rolls fn's rows back and is recorded.
//
// The answer is held in memory until the commit: Flush does nothing, and a body of over 16 times Policy.MaxBody is an error. A
// request without a key that may run without (Optional, safe methods) gets a transaction all the same.
func (m *Middleware) HandlerTx(fn TxHandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		in, err := m.read(r)
		if err != nil {
			m.refuse(w, r, err)
			return
		}
		var rec *recorder
		work := func(ctx context.Context, tx pgx.Tx) (*idem.Response, error) {
			rec = newRecorder(m, w, keptBody(m.Store.Policy))
			rec.limit = 16 * rec.keeps
			return rec.serveTx(ctx, in, tx, fn)
		}
		var resp *idem.Response
		if in.plain {
			err = m.plainly(r.Context(), work)
		} else {
			resp, err = m.ask(in, func(key idem.Key) (*idem.Response, error) {
				return m.Store.Do(readsBody(r.Context(), key), key, work)
			})
		}
		if errors.Is(err, errNotKept) || err == nil && (resp == nil || !resp.Replayed) {
			rec.send()
			return
		}
		if _, known := kindOf(err); err != nil && rec != nil && !known {
			err = &handlerError{err} // an SQL error that fn ignored, or one at COMMIT: all of it was rolled back
		}
		m.finish(w, in, resp, err)
	})
}

// handlerError is an error of a TxHandlerFunc.
type handlerError struct{ error }

func (e *handlerError) Unwrap() error { return e.error }

// serveTx runs fn and says what is recorded.
func (r *recorder) serveTx(ctx context.Context, in *request, tx pgx.Tx, fn TxHandlerFunc) (*idem.Response, error) {
	if err := fn(r, in.forHandler(ctx), tx); err != nil {
		return nil, &handlerError{err}
	}
	r.finish()
	switch {
	case r.err != nil:
		return nil, &handlerError{r.err}
	case r.m.outcome(r.status) != Keep:
		return nil, errNotKept
	case r.short() && in.Method != http.MethodHead:
		return nil, &handlerError{fmt.Errorf("the handler declared %d bytes and wrote %d", r.declared, r.written)}
	}
	return r.answer(), nil
}

// plainly runs work in a transaction without a key, by the same rules.
func (m *Middleware) plainly(ctx context.Context, work idem.TxWork) error {
	if m.Store == nil {
		return misuse("Middleware.Store is nil")
	}
	refused := errors.New("a refusal, whose rows are rolled back")
	worked := false
	err := pgx.BeginFunc(ctx, m.Store.Pool, func(tx pgx.Tx) error {
		resp, err := work(ctx, tx)
		if err == nil && resp.Failed {
			err = refused
		}
		worked = err == nil
		return err
	})
	switch {
	case errors.Is(err, refused):
		return nil
	case worked && err != nil: // at COMMIT, and there is no key that could tell what became of it
		return &refusal{Problem{Type: "about:blank", Title: http.StatusText(http.StatusInternalServerError), Status: http.StatusInternalServerError}, err}
	}
	return err
}
