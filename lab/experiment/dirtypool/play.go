package dirtypool

import (
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pgidem/pgidem/idem"
)

// play is one round: two handlers on a pool, and the steps so far.
type play struct {
	pool   pool
	wire   *wire
	narrow bool // the pool has one connection
	steps  []Step
}

// The statements, as the steps call them.
const (
	begin    = "BEGIN"
	insert   = "INSERT"
	rollback = "ROLLBACK"
)

//go:embed insert.sql
var insertSQL string

// onPool sends each of A's statements through the pool, so that none of them knows where the last one went.
func (p *play) onPool(ctx context.Context, overlap bool) error {
	var bs executor = p.pool
	if overlap {
		c, err := p.pool.take(ctx)
		if err != nil {
			return err
		}
		p.note(B, "is given a connection")
		bs = givingBack{c}
	}
	return errors.Join(
		p.send(ctx, A, begin, p.pool),
		p.write(ctx, B, bs),
		p.write(ctx, A, p.pool),
		p.send(ctx, A, rollback, p.pool),
	)
}

// givingBack is a connection for one statement.
type givingBack struct{ session }

func (g givingBack) exec(ctx context.Context, sql string, args ...any) error {
	return errors.Join(g.session.exec(ctx, sql, args...), g.giveBack())
}

// checkedOut sends all of A's statements through one connection that is nobody else's meanwhile.
func (p *play) checkedOut(ctx context.Context) error {
	a, err := p.pool.take(ctx)
	if err != nil {
		return err
	}
	err = p.send(ctx, A, begin, a)
	ended := p.beside(ctx)
	return errors.Join(err,
		p.write(ctx, A, a),
		p.send(ctx, A, rollback, a),
		a.giveBack(),
		ended(),
	)
}

// errDeclined is why A's work fails.
var errDeclined = errors.New("declined")

// product is A's work in Store.Do, which checks the connection out, begins, and rolls back when the work fails.
func (p *play) product(ctx context.Context) error {
	// Wait is long because this machine may be slow; nothing here waits for a key.
	store := &idem.Store{Pool: p.pool.(pgxPools).Pool, Policy: idem.Policy{Wait: 30 * time.Second}}
	defer store.Close()
	ended := func() error { return nil }
	_, err := store.Do(ctx, newKey(), func(ctx context.Context, tx pgx.Tx) (*idem.Response, error) {
		p.note(A, begin)
		ended = p.beside(ctx)
		if err := p.write(ctx, A, inTx{tx}); err != nil {
			return nil, err
		}
		return nil, errDeclined
	})
	if !errors.Is(err, errDeclined) {
		return errors.Join(fmt.Errorf("the work fails, and Store.Do says: %w", err), ended())
	}
	p.note(A, rollback)
	return ended()
}

// newKey is a key that was never used before.
func newKey() idem.Key {
	return idem.Key{Tenant: "lab", Endpoint: "POST /writes", ID: rand.Text(), Fingerprint: idem.AnyRequest}
}

type inTx struct{ pgx.Tx }

func (t inTx) exec(ctx context.Context, sql string, args ...any) error {
	_, err := t.Exec(ctx, sql, args...)
	return err
}

// beside is B's INSERT while A's transaction is open. Where A has the only connection, the INSERT waits for it: ended is to be
// called when A has given it back.
func (p *play) beside(ctx context.Context) (ended func() error) {
	if !p.narrow {
		err := p.write(ctx, B, p.pool)
		return func() error { return err }
	}
	asked, done := make(chan struct{}), make(chan error, 1)
	go func() {
		close(asked)
		done <- p.pool.exec(ctx, insertSQL, B)
	}()
	<-asked
	p.steps = append(p.steps, Step{Handler: B, Does: "asks for a connection", Answer: "none is free"})
	return func() error {
		err := <-done
		p.note(B, insert)
		return err
	}
}

func (p *play) write(ctx context.Context, handler string, e executor) error {
	err := e.exec(ctx, insertSQL, handler)
	p.note(handler, insert)
	return err
}

func (p *play) send(ctx context.Context, handler, word string, e executor) error {
	err := e.exec(ctx, word)
	p.note(handler, word)
	return err
}

// note adds a step that has just been taken.
func (p *play) note(handler, does string) {
	s := Step{Handler: handler, Does: does, Answer: "done"}
	var warning string
	if s.Connection, warning = p.wire.look(); warning != "" {
		s.Answer = "WARNING " + warning
	}
	p.steps = append(p.steps, s)
}
