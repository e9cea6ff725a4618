package engine

import (
	"context"
	"errors"
	"time"

	"github.com/pgidem/pgidem/gen"
)

const (
	// togetherLock is how long a claim for several callers waits for a rival before it is repeated row by row, so that only the
	// blocked row waits.
	togetherLock = 50 * time.Millisecond
	// togetherWait is for all of its rivals: one who ends in time is followed by the next.
	togetherWait = 2 * togetherLock
)

// Together is a Row that can be claimed in one statement with others of its table.
type Together interface {
	Row
	Coalesces() bool                   // false: it travels alone
	ClaimTogether(t *Trip, rows []Row) // adds the claim of all rows, its own included, and the load of those that stand already
}

// Claims coalesces the claims of one process.
type Claims = Coalescer[*claimant]

// claimant is one caller of a claim for several.
type claimant struct {
	row    Row
	budget Budget

	verdict Verdict
	err     error
	doubt   error // the COMMIT went unanswered
	decided bool  // else the claim is to be repeated alone
}

// claimCoalesced claims row with those of other callers, and alone where that decides nothing. A caller who is cancelled before
// its claim is on its way sends none; later it waits for what comes, and gives back what it no longer wants.
func (e Engine) claimCoalesced(ctx context.Context, row Together, budget Budget) (Row, Verdict, error) {
	c := &claimant{row: row, budget: budget}
	err := e.Claims.Do(ctx, c, func(all []*claimant) {
		if len(all) == 1 {
			c.row, c.verdict, c.err = e.claimAlone(ctx, row, budget)
			c.decided = true
			return
		}
		e.claimTogether(ctx, row, all)
	})
	switch {
	case err != nil:
		return row, Refused, err
	case c.decided:
		return c.row, c.verdict, c.err
	case c.doubt == nil:
		return e.claimAlone(ctx, row.Fresh(), budget)
	}
	found, v, err := e.readBackClaim(ctx, row, c.doubt)
	if !errors.Is(err, ErrUnavailable) || errors.Is(err, ErrCommitUnknown) {
		return found, v, err
	}
	found, v, err = e.claimAlone(ctx, row.Fresh(), budget)
	if err != nil && found.Mine() { // what was in doubt arrived after it had been read back
		return found, Claimed, nil
	}
	return found, v, err
}

// claimTogether claims the rows of all, deaf to every caller's cancellation: each gives back by itself what it no longer wants.
// What it cannot decide (an error, a row that is to be reclaimed or has vanished) it leaves undecided.
func (e Engine) claimTogether(ctx context.Context, table Together, all []*claimant) {
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	conn, err := e.Pool.Acquire(bounded)
	if err != nil {
		return
	}
	on := &line{conn: conn.Conn(), release: conn.Release}
	defer on.end(ctx)

	rows := make([]Row, len(all))
	for i, c := range all {
		rows[i] = c.row.Fresh() // a late answer writes into these alone
	}
	t := new(Trip)
	t.Begin()
	t.Add(func(ctx context.Context, db gen.DBTX) error {
		return gen.New().SettingsCoalesced(ctx, db, claimBound(all))
	})
	table.ClaimTogether(t, rows)
	t.Commit()
	_, err = on.carry(bounded, t)
	for i, c := range all {
		switch {
		case err == nil:
			c.row = rows[i]
			c.verdict, c.err = rows[i].Verdict()
			c.decided = c.verdict != Gone && c.verdict != Claimable
		case !certain(err):
			c.doubt = err
		}
	}
}

// claimBound is what the claim of all may wait: no longer than any of them would, and never for a third of a lease.
func claimBound(all []*claimant) gen.SettingsCoalescedParams {
	lock, statement := togetherLock, togetherWait
	for _, c := range all {
		lock = min(lock, max(c.budget.Wait-time.Since(c.budget.began), leastWait))
		statement = min(statement, max(c.budget.Lease/3, leastWait))
	}
	return gen.SettingsCoalescedParams{StatementTimeout: milliseconds(statement), LockTimeout: milliseconds(lock)}
}
