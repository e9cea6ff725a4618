package cleanup

import (
	"context"
	"crypto/rand"
	_ "embed"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/pgidem/pgidem/lab/design"
)

// request is a purchase as its client sends it, again and again under one key.
type request struct {
	key string
	try int // 1: the first
}

// work is what a purchase does in a transaction. It fails at the first try and not again: the fault is transient.
type work func(ctx context.Context, tx pgx.Tx, r request) error

//go:embed purchase.sql
var purchaseSQL string

// drawn is the receipt that the first try draws, and somebody else has.
const drawn = "drawn by somebody else"

// receiptIsTaken fails with a 23505.
func receiptIsTaken(ctx context.Context, tx pgx.Tx, r request) error {
	receipt := r.key
	if r.try == 1 {
		receipt = drawn
	}
	_, err := tx.Exec(ctx, purchaseSQL, receipt, r.key)
	return err
}

// cleansUp is work with the article's clean-up in it.
func cleansUp(w work, told *story) work {
	return func(ctx context.Context, tx pgx.Tx, r request) error {
		err := w(ctx, tx, r)
		if err == nil {
			return nil
		}
		tag, failure := tx.Exec(ctx, markFailedSQL, r.key)
		told.say(cleanupStep, rowsOr(tag.RowsAffected(), failure))
		if failure != nil {
			return failure
		}
		return err
	}
}

// errMail is an error that the database knows nothing of.
var errMail = errors.New("mail server down")

// mailFails fails outside the database, so that the transaction is healthy.
func mailFails(ctx context.Context, tx pgx.Tx, r request) error {
	if r.try == 1 {
		return errMail
	}
	return receiptIsTaken(ctx, tx, r)
}

// errKilled stands for the end of the process: nothing that comes after it in a handler runs.
var errKilled = errors.New("killed")

// isKilled dies before it has done anything.
func isKilled(ctx context.Context, tx pgx.Tx, r request) error {
	if r.try == 1 {
		return errKilled
	}
	return receiptIsTaken(ctx, tx, r)
}

var (
	errUnreachable = errors.New("processor unreachable")
	errNoAnswer    = errors.New("no answer from the processor")
)

// amountCents is the article's.
const amountCents = 49_00

// charge takes the money for r at a processor outside.
func charge(ctx context.Context, p design.Processor, downstreamKey string, r request) error {
	_, err := p.Charge(ctx, downstreamKey, design.Payment{Key: r.key, Customer: r.key, AmountCents: amountCents})
	return err
}

// answerIsLost charges at the processor, under no key that it would know again. The first answer never arrives.
func answerIsLost(p design.Processor) work {
	return func(ctx context.Context, _ pgx.Tx, r request) error {
		err := charge(ctx, p, rand.Text(), r)
		if err == nil && r.try == 1 {
			err = errNoAnswer
		}
		return err
	}
}
