package engine

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/gen"
)

// Bound is how long a holder's statement may wait for others.
type Bound struct {
	Statement time.Duration // at most a third of the lease; 0: 5 s
	Lock      time.Duration // 0: as the session has it
	Together  bool          // the statement is for several callers' rows
}

func settingsWrite(b Bound) Statement {
	if b.Statement <= 0 {
		b.Statement = writeWait
	}
	statement, lock := milliseconds(b.Statement), milliseconds(b.Lock)
	return func(ctx context.Context, db gen.DBTX) error {
		if b.Together {
			return gen.New().SettingsCoalesced(ctx, db, gen.SettingsCoalescedParams{StatementTimeout: statement, LockTimeout: lock})
		}
		return gen.New().SettingsWrite(ctx, db, gen.SettingsWriteParams{StatementTimeout: statement, LockTimeout: lock})
	}
}

// tryWait bounds one try, so that a connection that went silent leaves time for another.
const tryWait = 2 * time.Second

// Adder adds a holder's statement to t and returns what keeps its result. It is called once a try; keep only after the try
// that succeeded, so that the late answer to an earlier one changes nothing.
type Adder func(t *Trip) (keep func())

// Write sends statement in a transaction of its own, one round trip, on the pool or the reserve.
func (e Engine) Write(ctx context.Context, bound Bound, add Adder) error {
	return e.Reserve.Use(ctx, e.Pool, writing(bound, add))
}

// WriteOnce is Write tried once, the wait for a connection and dialling one included.
func (e Engine) WriteOnce(ctx context.Context, bound Bound, add Adder) error {
	try, cancel := context.WithTimeout(context.WithoutCancel(ctx), tryWait)
	defer cancel()
	return e.Reserve.try(try, e.Pool, writing(bound, add))
}

// WriteAside is Write on the reserve's own connection alone, tried once, and given up when ctx ends: one that dials in vain must not
// keep the others from trying.
func (r *Reserve) WriteAside(ctx context.Context, pool *pgxpool.Pool, bound Bound, add Adder) error {
	try, cancel := context.WithTimeout(ctx, writeWait)
	defer cancel()
	return r.own(try, pool, writing(bound, add))
}

func writing(bound Bound, add Adder) func(context.Context, *line) error {
	return func(ctx context.Context, on *line) error {
		t := new(Trip)
		t.Begin()
		t.Add(settingsWrite(bound))
		keep := add(t)
		t.Commit()
		try, cancel := context.WithTimeout(ctx, tryWait)
		defer cancel()
		_, err := on.carry(try, t)
		if err == nil {
			keep()
		}
		return err
	}
}
