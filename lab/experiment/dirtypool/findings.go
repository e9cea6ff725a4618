package dirtypool

import (
	"fmt"
	"strings"

	"github.com/pgidem/pgidem/lab/report"
)

const (
	article = "article 000"
	ours    = "pgidem"
)

// findings are the article's sentences and the product's promise, each with what this run says to it.
func (r *Result) findings() []report.Finding {
	first, second := r.at(OnPool, pqSQL, narrow, false), r.at(OnPool, pqSQL, wide, true)
	inTurn := r.at(OnPool, pqSQL, wide, false)
	begun, wrote, back := second.step(A, begin), second.step(A, insert), second.step(A, rollback)
	pgx := r.all(OnPool, pgxPool, pgxSQL)
	return []report.Finding{
		{
			Source: article, Must: true,
			Claim: "On a pool of one, BEGIN leaves the connection dirty, and another request is handed it: its row is " +
				"destroyed by A's ROLLBACK.",
			Measured: fmt.Sprintf("%s: B's row was destroyed in %s.", pqSQL.name, first.destroyed()),
			Holds: first.destroyed().all() && first.Kept == 0 &&
				first.step(B, insert).Connection == first.step(A, begin).Connection,
		},
		{
			Source: article, Must: true,
			Claim:    "On a pool of four, A's row survives its own ROLLBACK.",
			Measured: fmt.Sprintf("%s, with B's statement under way when A begins: A's row survived in %s.", pqSQL.name, second.kept()),
			Holds:    second.kept().all() && second.Destroyed == 0,
		},
		{
			Source: article, Must: true,
			Claim: "Both come from the same code, decided by the size of the pool and by timing.",
			Measured: fmt.Sprintf("on the same four connections of %s, B's row was destroyed in %s when nobody else was at "+
				"work, and A's kept in %s when B was.", pqSQL.name, inTurn.destroyed(), second.kept()),
			Holds: first.destroyed().all() && inTurn.destroyed().all() && second.kept().all(),
		},
		{
			Source: article, Must: true,
			Claim: "In the wider pool the INSERT ran in autocommit, on another backend than the BEGIN.",
			Measured: fmt.Sprintf("BEGIN met connection %d, the INSERT %d, and the ROLLBACK there got: %s.",
				begun.Connection, wrote.Connection, back.Answer),
			Holds: begun.Connection > 0 && wrote.Connection > 0 && begun.Connection != wrote.Connection &&
				strings.Contains(back.Answer, noTransaction),
		},
		{
			Source: ours, Must: true,
			Claim: "pgx hands on no connection that comes back in a transaction: the BEGIN is lost instead, so " +
				"nobody's row is destroyed, and A's row survives its own ROLLBACK on a pool of any size.",
			Measured: fmt.Sprintf("%s and %s: B's row was destroyed in %s, A's survived in %s.", pgxPool.name, pgxSQL.name,
				sum(pgx, Writes.destroyed), sum(pgx, Writes.kept)),
			Holds: sum(pgx, Writes.destroyed).none() && sum(pgx, Writes.kept).all(),
		},
		r.lockIsMeaningless(),
		r.lockIsReleased(),
		r.keeps(article, CheckedOut, "A transaction belongs on one connection that is checked out: then it takes its own "+
			"rows back and no others, and keeps its lock."),
		r.keeps(ours, Product, "Store.Do checks the connection out by itself: work that fails takes its own rows back and "+
			"no others, and its lock holds until then."),
	}
}

// noTransaction is the SQLSTATE of the warning that a ROLLBACK gets outside a transaction.
const noTransaction = "25P01"

func (r *Result) lockIsMeaningless() report.Finding {
	got, of := r.countLocks(OnPool, func(l Lock) bool { return l.Beside })
	return report.Finding{
		Source: article, Must: true,
		Claim:    "Any FOR UPDATE in that handler is meaningless.",
		Measured: fmt.Sprintf("B got the row that A had locked in %d of %d orders.", got, of),
		Holds:    of > 0 && got == of,
	}
}

func (r *Result) lockIsReleased() report.Finding {
	got, of := r.countLocks(OnPool, func(l Lock) bool { return l.Outside })
	measured := fmt.Sprintf("a session outside the pool got the row in %d of %d orders.", got, of)
	if got < of {
		measured += " In the rest the lock stayed with the connection, and so did the transaction: whoever is handed " +
			"that connection is inside it, so the lock keeps out all but the handlers that it is meant for."
	}
	return report.Finding{
		Source:   article,
		Claim:    "The lock is released the moment the statement's connection goes back to the pool.",
		Measured: measured,
		Holds:    of > 0 && got == of,
	}
}

// keeps is a claim that a handler's transaction is one.
func (r *Result) keeps(source string, h Handler, claim string) report.Finding {
	writes := r.all(h)
	got, of := r.countLocks(h, func(l Lock) bool { return l.Beside || l.Outside })
	open := 0
	for _, w := range writes {
		open += w.LeftOpen
	}
	return report.Finding{
		Source: source, Must: true, Claim: claim,
		Measured: fmt.Sprintf("B's row was destroyed in %s, A's survived in %s; transactions left open: %d; somebody else "+
			"got the locked row in %d of %d orders.",
			sum(writes, Writes.destroyed), sum(writes, Writes.kept), open, got, of),
		Holds: sum(writes, Writes.destroyed).none() && sum(writes, Writes.kept).none() && open == 0 && of > 0 && got == 0,
	}
}
