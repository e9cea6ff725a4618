package cleanup

import (
	"time"

	"github.com/pgidem/pgidem/idem"
)

// variant is a design under a fault.
type variant struct {
	Variant
	knowsFailed bool // the CHECK allows failed
	sweeps      bool // the article's sweeper runs when a lease has passed
	build       func(b *bench, endpoint string, told *story) shop
}

// What befalls the first request of every key.
const (
	faultReceipt = "SQL error 23505"
	faultMail    = "mail server down"
	faultReach   = "processor unreachable"
	faultLost    = "processor's answer lost"
	faultKilled  = "process killed"
)

// The designs.
const (
	insideSQL     = "clean-up in the failed transaction"
	insideHealthy = "clean-up in a healthy transaction"
	insideAllowed = "clean-up, the CHECK allows failed"
	together      = "clean-up, claim in the work's transaction"
	marked        = "failed marked on a fresh transaction"
	deleted       = "claim deleted on a fresh transaction"
	swept         = "claim deleted by a created_at sweeper"
	do            = "Store.Do"
	doCleaningUp  = "Store.Do, the clean-up in its work"
	holdTransient = "Store.Hold, Transient"
	holdRefuse    = "Store.Hold, StaleRefuse"
	holdRerun     = "Store.Hold, StaleRerun"
)

// variants are all designs, in the order of the table.
func variants() []variant {
	claims := func(fails errorPath, w work) func(*bench, string, *story) shop {
		return func(b *bench, _ string, told *story) shop {
			return &ledger{pool: b.pool, claim: claimSQL, work: w, fails: fails, story: told}
		}
	}
	holds := func(f fault, p idem.Policy) func(*bench, string, *story) shop {
		p.Wait = -1
		return func(b *bench, endpoint string, _ *story) shop {
			return leased{store: b.store(p), endpoint: endpoint, processor: b.processor, fault: f}
		}
	}
	does := func(w work) func(*bench, string, *story) shop {
		return func(b *bench, endpoint string, _ *story) shop {
			return atomic{store: b.store(idem.Policy{Wait: patience}), endpoint: endpoint, work: w}
		}
	}
	return []variant{
		{Variant: Variant{insideSQL, faultReceipt}, build: claims(insideThenRollBack, receiptIsTaken)},
		{Variant: Variant{insideHealthy, faultMail}, build: claims(insideThenRollBack, mailFails)},
		{Variant: Variant{insideAllowed, faultMail}, build: claims(insideThenRollBack, mailFails), knowsFailed: true},
		{Variant: Variant{together, faultReceipt}, build: func(b *bench, _ string, told *story) shop {
			return &purchase{pool: b.pool, work: cleansUp(receiptIsTaken, told), story: told}
		}},
		{Variant: Variant{marked, faultReceipt}, knowsFailed: true, build: func(b *bench, _ string, told *story) shop {
			return &ledger{pool: b.pool, claim: claimFailedSQL, work: receiptIsTaken, fails: markOutside, story: told}
		}},
		{Variant: Variant{deleted, faultReceipt}, build: claims(deleteOutside, receiptIsTaken)},
		{Variant: Variant{do, faultReceipt}, build: does(receiptIsTaken)},
		{Variant: Variant{doCleaningUp, faultReceipt}, build: does(cleansUp(receiptIsTaken, nil))},
		{Variant: Variant{holdTransient, faultReach}, build: holds(unreachable, idem.Policy{})},
		{Variant: Variant{deleted, faultLost}, build: func(b *bench, _ string, told *story) shop {
			return &ledger{pool: b.pool, claim: claimSQL, work: answerIsLost(b.processor), fails: deleteOutside, story: told}
		}},
		{Variant: Variant{holdRefuse, faultLost}, build: holds(lost, idem.Policy{})},
		{Variant: Variant{holdRerun, faultLost}, build: holds(lost, idem.Policy{Stale: idem.StaleRerun})},
		{Variant: Variant{deleted, faultKilled}, build: claims(deleteOutside, isKilled)},
		{Variant: Variant{swept, faultKilled}, build: claims(deleteOutside, isKilled), sweeps: true},
		{Variant: Variant{holdRefuse, faultKilled}, build: holds(killed, idem.Policy{})},
		{Variant: Variant{holdRerun, faultKilled}, build: holds(killed, idem.Policy{Stale: idem.StaleRerun})},
	}
}

// patience is for a slow machine; nothing is meant to wait so long.
const patience = 30 * time.Second
