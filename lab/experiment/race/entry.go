package race

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/lab/design"
	"github.com/pgidem/pgidem/lab/experiment"
)

// The designs that findings speak of.
const (
	readCommitted     = "check-then-insert, READ COMMITTED"
	repeatableRead    = "check-then-insert, REPEATABLE READ"
	serializable      = "check-then-insert, SERIALIZABLE"
	serializableRetry = "the same, run again on 40001"
	lockMissing       = "SELECT FOR UPDATE, no row yet"
	lockExisting      = "SELECT FOR UPDATE, the row exists"
	primaryKey        = "SELECT first, PRIMARY KEY"
	primaryKeyCaught  = "the same, 23505 caught and replayed"
	referee           = "INSERT ON CONFLICT DO NOTHING"
	storeDo           = "pgidem Store.Do"
	storeHold         = "pgidem Store.Hold"
)

// entry is a design at the barrier.
type entry struct {
	name    string
	kind    Kind
	article *Article
	earlier bool // the payment was made once before
	worker  func() design.Design
	refused *atomic.Int64 // times that a transaction was run again; nil: it never is
}

// entries are all designs, in the order of the article.
func (r *Race) entries(pool *pgxpool.Pool, shop *stores) []entry {
	insert := func(level pgx.TxIsoLevel) func() design.Design {
		return func() design.Design { return design.CheckThenInsert{Pool: pool, Delay: r.Delay, Isolation: level} }
	}
	lock := func() design.Design { return design.LockThenInsert{Pool: pool, Delay: r.Delay} }
	claim := func(catch bool) func() design.Design {
		return func() design.Design { return design.CheckThenClaim{Pool: pool, Delay: r.Delay, Catch: catch} }
	}
	refused := new(atomic.Int64)
	retried := func() design.Design {
		return design.Retry{Design: insert(pgx.Serializable)(), Refused: func() { refused.Add(1) }}
	}
	eight, one := &Article{Charges: 8, Cents: 392_00}, &Article{Charges: 1, Cents: 49_00}
	refuses := func(state string) *Article { return &Article{Charges: 1, Cents: 49_00, Errors: state + " × 7"} }
	return []entry{
		{name: readCommitted, kind: Naive, article: eight, worker: insert(pgx.ReadCommitted)},
		{name: repeatableRead, kind: Naive, article: eight, worker: insert(pgx.RepeatableRead)},
		{name: serializable, kind: Halfway, article: refuses("40001"), worker: insert(pgx.Serializable)},
		{name: serializableRetry, kind: Safe, worker: retried, refused: refused},
		{name: lockMissing, kind: Naive, article: eight, worker: lock},
		{name: lockExisting, kind: Halfway, article: one, worker: lock, earlier: true},
		{name: primaryKey, kind: Halfway, article: refuses("23505"), worker: claim(false)},
		{name: primaryKeyCaught, kind: Safe, worker: claim(true)},
		{name: referee, kind: Safe, article: one, worker: func() design.Design {
			return design.Transaction{Pool: pool, Delay: r.Delay}
		}},
		{name: storeDo, kind: Ours, worker: func() design.Design {
			return design.Do{Store: shop.open(pool), Delay: r.Delay}
		}},
		{name: storeHold, kind: Ours, worker: func() design.Design {
			return design.Hold{Store: shop.open(pool), Processor: design.Processor{Pool: pool, Delay: r.Delay}}
		}},
	}
}

// design runs the trials of one entry.
func (r *Race) design(ctx context.Context, pool *pgxpool.Pool, e entry, step func()) (Design, error) {
	d := Design{Name: e.name, Kind: e.kind, Article: e.article}
	barrier := experiment.Barrier{Sent: step}
	for range r.Workers {
		barrier.Workers = append(barrier.Workers, e.worker())
	}
	if e.earlier {
		barrier.Before = func(ctx context.Context, p design.Payment) error {
			_, err := e.worker().Pay(ctx, p)
			return err
		}
	}
	for range r.Trials {
		trial, err := barrier.Run(ctx, pool)
		if err != nil {
			return d, err
		}
		d.Trials = append(d.Trials, trial)
	}
	if e.refused != nil {
		d.RunAgain = int(e.refused.Load())
	}
	return d, nil
}

// stores are one for each worker, as processes have them: they share the database and nothing else.
type stores []*idem.Store

func (s *stores) open(pool *pgxpool.Pool) *idem.Store {
	store := &idem.Store{Pool: pool, Policy: idem.Policy{Wait: storeWait}}
	*s = append(*s, store)
	return store
}

// storeWait is longer than the default, so that a loaded machine does not turn replays into 409s.
const storeWait = 5 * time.Second

// Close closes them all.
func (s *stores) Close() {
	for _, store := range *s {
		store.Close()
	}
}
