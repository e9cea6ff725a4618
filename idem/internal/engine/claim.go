package engine

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/pgidem/pgidem/gen"
)

// Verdict is what a look at a row decides.
type Verdict int

const (
	Gone      Verdict = iota // no row stands: it vanished between claim and read, or never committed
	Claimed                  // the row is this call's
	Finished                 // the row holds an answer for this request
	Claimable                // expired, given back or abandoned: Reclaim may take it
	Refused                  // the row answers with an error
)

// Row is one row of a ledger as one call sees it: it knows the statements of its table and what they found; the engine
// knows when to send them and what to make of silence.
type Row interface {
	Claim(*Trip)    // adds the guarded insert and, after it, the load
	Load(*Trip)     // adds the load alone
	Reclaim(*Trip)  // adds the conditional update of what was loaded, if it still stands
	Complete(*Trip) // adds the statement that records the answer; it fails if the row is no longer this call's
	Probe(*Trip)    // adds the unguarded insert that waits, and after it the load; always rolled back
	// MarkUnknown adds the statement that shows the row to operators, should its claim have been committed unfinished.
	MarkUnknown(*Trip)

	Verdict() (Verdict, error) // what the statements above found; the error goes with Refused
	Mine() bool                // whether the row found is this call's own: claimed, or finished, under its claim id
	Fresh() Row                // the same row, nothing found yet, for a look beside a statement still under way
}

const (
	// attempts bounds how often a claim starts again because the row vanished or changed under it. Article 000 needs two;
	// a third covers a sweep and a rival in the same call.
	attempts = 3
	// leastWait is the least time that a statement gets: 1 ms cancelled 6-10 % of uncontended claims.
	leastWait = 20 * time.Millisecond
	// grace is what a claim may take beyond Wait: dialling, a busy pool, a slow server.
	grace = 5 * time.Second
)

// Budget bounds one claim.
type Budget struct {
	Wait  time.Duration // for the connection and all attempts; below 0: never wait
	Lease time.Duration // no statement waits for more than a third of it, or a claim would be born lapsed
	began time.Time
}

func (b Budget) start() Budget {
	b.began = time.Now()
	return b
}

// deadline is when the claim has had Wait and the grace.
func (b Budget) deadline() time.Time { return b.began.Add(max(b.Wait, 0) + grace) }

// settings are the time-outs for the next statement of the claim, which is to have at least least.
func (b Budget) settings(least, idle time.Duration) gen.SettingsClaimParams {
	p := gen.SettingsClaimParams{IdleTimeout: milliseconds(idle)}
	if b.Wait < 0 {
		p.LockTimeout = milliseconds(least)
		return p
	}
	left := min(b.Wait-time.Since(b.began), b.Lease/3)
	p.StatementTimeout = milliseconds(max(left, least))
	return p
}

// milliseconds is d as a setting: rounded up, because 0 would mean no limit; "" for none.
func milliseconds(d time.Duration) string {
	if d <= 0 {
		return ""
	}
	return strconv.FormatInt(int64((d+time.Millisecond-1)/time.Millisecond), 10)
}

// claim is one claim under way.
type claim struct {
	row    Row
	budget Budget
	frame  frame
	on     carrier
	least  time.Duration // doubled whenever it was too short for a claim that nobody stood in the way of
}

// run claims the row or says why not. It looks again, three times in all, when the row vanishes or changes between two
// statements.
func (c *claim) run(ctx context.Context) (Verdict, error) {
	c.least = leastWait
	for n := 0; n < attempts; n++ {
		v, err := c.trip(ctx, c.row.Claim)
		if err == nil && v == Claimable {
			v, err = c.trip(ctx, c.row.Reclaim)
		}
		switch {
		case errors.Is(err, errTooShort):
			c.least *= 2
			n-- // nobody changed the row; the deadline bounds this
		case err != nil || v != Gone && v != Claimable:
			return v, err
		}
	}
	return Refused, ErrContended
}

// trip sends one statement of the claim, bounded by what is left of the budget.
func (c *claim) trip(ctx context.Context, statement func(*Trip)) (Verdict, error) {
	t := new(Trip)
	c.frame.open(t)
	t.Add(func(ctx context.Context, db gen.DBTX) error {
		return gen.New().SettingsClaim(ctx, db, c.budget.settings(c.least, c.frame.idle()))
	})
	statement(t)
	c.frame.close(t)
	tx, err := c.on.carry(ctx, t)
	c.frame.sent(tx, err)
	switch {
	case err == nil:
		return c.row.Verdict()
	case notClaimed(err):
		return c.behindNothing(ctx)
	case behindClaim(err):
		return Refused, err
	case timedOut(err):
		return c.loadAfterWait(ctx, behindRival(err))
	}
	return Refused, c.failed(err)
}

// failed makes ErrUnavailable of the database's error: who owns the key is not known, so nothing runs. In the user's
// transaction a serialization failure or deadlock stays as it is: all of that transaction is to run again.
func (c *claim) failed(err error) error {
	if _, theirs := c.frame.(*savepoint); theirs && IsSerialization(err) {
		return err
	}
	return unavailable(err)
}

// behindNothing answers a batch that was stopped because its claim was not granted, by what was loaded before. Where there is to be
// another trip, the transaction that this one left is ended first.
func (c *claim) behindNothing(ctx context.Context) (Verdict, error) {
	v, err := c.row.Verdict()
	if v == Gone || v == Claimable {
		if err := c.on.words(ctx, c.frame.undo()); err != nil {
			return Refused, c.failed(err)
		}
	}
	return v, err
}

// errTooShort: a claim was cut off that waited for nobody: a page's lock, or the processor, took longer than its least time.
var errTooShort = errors.New("the claim had too little time")

// loadAfterWait answers a claim whose time ran out: by what the row says, and as in flight where a rival has not committed.
func (c *claim) loadAfterWait(ctx context.Context, rival bool) (Verdict, error) {
	if err := c.on.words(ctx, c.frame.undo()); err != nil {
		return Refused, c.failed(err)
	}
	t := new(Trip)
	c.row.Load(t)
	if _, err := c.on.carry(ctx, t); err != nil {
		return Refused, c.failed(err)
	}
	v, err := c.row.Verdict()
	switch {
	case v == Finished || v == Refused:
		return v, err
	case (v == Gone || v == Claimed) && !rival: // Claimed: it would have been, and was rolled back
		return Gone, errTooShort
	}
	return Refused, ErrInFlight
}
