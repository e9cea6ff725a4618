package failover

import (
	"context"

	"github.com/pgidem/pgidem/lab/design"
)

// pair is a key store and its replica, which follows it over a link.
type pair interface {
	primary() site
	replica() site
	caughtUp(ctx context.Context) error // waits until the replica has everything that was confirmed
	part()                              // parts the link for good
	kill()                              // ends the primary as a crash does; again is nothing
	promote(ctx context.Context) error
	close() error
}

// site is one of the two, as shops and this experiment see it.
type site interface {
	// open opens a shop with so many connections, which are there when it returns.
	open(ctx context.Context, name string, conns int) (*shop, error)
	claims(ctx context.Context) (map[string]bool, error)    // the keys that it knows, and whether it knows their answers
	orders(ctx context.Context) (map[string]charged, error) // payments that were charged by a row there
	waiting(ctx context.Context, shop string) (int, error)  // commits of a shop that wait for the replica
	lapse(ctx context.Context) error                        // moves the time past every claim that is not finished
	check(ctx context.Context) (string, bool)               // what Store.Check says, and whether there is one
}

// shop is a process that takes payments at one site, with any design.
type shop struct {
	design func(*subject) design.Design
	close  func()
}

// charged is how often a payment was charged, and under how many keys of the processor.
type charged struct{ times, keys int }
