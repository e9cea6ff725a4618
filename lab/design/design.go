// Package design holds ways to handle a payment that a client may send more than once, right and wrong ones, behind one
// interface: a file each. Experiments run them against each other and count afterwards what was charged.
package design

import (
	"context"
	"crypto/rand"
	_ "embed"

	"github.com/jackc/pgx/v5/pgxpool"
)

// Design is one way to handle a payment. It is used by many goroutines at once.
type Design interface {
	// Name is how tables and sentences call the design.
	Name() string
	// Once reports whether the design promises one charge a payment, however often it is sent. An experiment holds it to
	// that, and expects duplicates of a design that does not.
	Once() bool
	// Pay handles one request. An error is neither of the outcomes: the experiment has failed.
	Pay(ctx context.Context, p Payment) (Outcome, error)
}

// Payment is a request as the client sends it: every copy is equal.
type Payment struct {
	Key         string // the idempotency key that the client made for it
	Customer    string
	AmountCents int
}

// NewPayment is a payment for the course of article 000, under a key that was never used before.
func NewPayment(customer string) Payment {
	return Payment{Key: rand.Text(), Customer: customer, AmountCents: 49_00}
}

// Outcome is what the client is told.
type Outcome struct {
	Kind     Kind
	ChargeID int64 // 0 with InFlight
}

// Kind says how a request ended.
type Kind int

const (
	Charged  Kind = iota // this request charged
	Replayed             // an earlier request had charged, and this is its answer
	InFlight             // 409: another request is charging, come back later
)

//go:embed schema.sql
var schemaSQL string

// Install makes the tables of schema lab in a database that has the product's.
func Install(ctx context.Context, pool *pgxpool.Pool) error {
	_, err := pool.Exec(ctx, schemaSQL)
	return err
}

//go:embed reset.sql
var resetSQL string

// Reset empties the tables of schema lab, so that what is counted next is one run's. The product's keys stay, as they would.
func Reset(ctx context.Context, pool *pgxpool.Pool) error {
	_, err := pool.Exec(ctx, resetSQL)
	return err
}
