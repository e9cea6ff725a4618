package failover

import (
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/lab/design"
)

// subject is a row of the table: a design, and what charges.
type subject struct {
	design    string
	ours      bool
	processor Processor

	// build makes the design on a database, for one shop. nil: it is on Redis.
	build func(pool *pgxpool.Pool, card *design.Card) (_ design.Design, done func())
}

// lease is how long a claim stands for whose holder is silent: longer than any run, so that it lapses only when the run says so.
const lease = time.Hour

// onPostgres are run on either kind of standby.
var onPostgres = []subject{
	{design: "Postgres claim", processor: Charges, build: claim},
	{design: "Postgres claim", processor: Refuses, build: claim},
	{design: "Hold, StaleRefuse", ours: true, processor: Charges, build: hold(idem.StaleRefuse)},
	{design: "Hold, StaleRerun", ours: true, processor: Refuses, build: hold(idem.StaleRerun)},
	{design: "Store.Do", ours: true, processor: Here, build: do},
}

var onRedis = []subject{
	{design: "Redis SET NX", processor: Charges},
	{design: "Redis SET NX", processor: Refuses},
}

func claim(pool *pgxpool.Pool, card *design.Card) (design.Design, func()) {
	return design.Claim{Pool: pool, Card: card, Stale: lease}, func() {}
}

func hold(stale idem.StalePolicy) func(*pgxpool.Pool, *design.Card) (design.Design, func()) {
	return func(pool *pgxpool.Pool, card *design.Card) (design.Design, func()) {
		// each payment's commit by itself, so that those that wait for the standby can be counted
		s := &idem.Store{Pool: pool, Policy: idem.Policy{Stale: stale, Lease: lease}, NoCoalescing: true}
		return design.HoldOutside{Store: s, Card: card}, s.Close
	}
}

func do(pool *pgxpool.Pool, _ *design.Card) (design.Design, func()) {
	s := &idem.Store{Pool: pool, Policy: idem.Policy{Lease: lease}}
	return design.Do{Store: s}, s.Close
}
