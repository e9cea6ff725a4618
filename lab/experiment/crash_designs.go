package experiment

import (
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/internal/processor"
	"github.com/pgidem/pgidem/lab/design"
)

// crashDesign is a row of the table: a design, and the processor that it charges at.
type crashDesign struct {
	label     string
	article   *ArticleRow // nil: a row of ours
	once      bool        // the two together promise one charge
	processor processor.Behaviour
	points    []design.Point // where workers are killed, in turn
	operator  bool           // who is told that the outcome is unknown leaves it to an operator
	build     func(b crashBench) design.Design
}

// crashBench is what a worker has to build a design from.
type crashBench struct {
	pool  *pgxpool.Pool
	redis *redis.Client
	card  *design.Card
	at    design.At
}

func (b crashBench) store(p idem.Policy) *idem.Store {
	p.Lease, p.Wait = crashLease, -1 // the client comes again by itself
	return &idem.Store{Pool: b.pool, Policy: p}
}

func (b crashBench) hold(p idem.Policy) design.Design {
	return design.HoldOutside{Store: b.store(p), Card: b.card, At: b.at}
}

// Processors, by what they can do.
var (
	refusesRepeats = processor.Behaviour{Repeat: processor.RepeatReplay, Asked: processor.AskedRefuse}
	knowsNoKeys    = processor.Behaviour{Repeat: processor.RepeatCharge, Asked: processor.AskedRefuse}
	reportsPending = processor.Behaviour{Repeat: processor.RepeatCharge, Asked: processor.AskedPending}
	reportsLanded  = processor.Behaviour{Repeat: processor.RepeatCharge, Asked: processor.AskedLanded}
)

// Where workers are killed.
var (
	taken      = []design.Point{design.Taken}
	aroundStep = []design.Point{design.Taken, design.StepIsKept}
	// sent is before the processor has charged. Such a charge lands when every key has been taken up again: after Settle, however
	// long that is.
	sent = []design.Point{design.Sent}
)

var crashDesigns = []crashDesign{
	{
		label: "Postgres claim, takeover when stale", article: &ArticleRow{1100, 100},
		processor: knowsNoKeys, points: taken, build: claim,
	},
	{
		label: "Postgres transaction, local write", article: &ArticleRow{1000, 0}, once: true,
		points: taken, build: localTransaction,
	},
	{
		label: "Postgres transaction, external call", article: &ArticleRow{1100, 100},
		processor: knowsNoKeys, points: taken, build: transaction,
	},
	{
		label: "Redis SET NX, expiry as takeover", article: &ArticleRow{1100, 100},
		processor: knowsNoKeys, points: taken, build: redisLock,
	},
	{
		label: "Postgres transaction, unique key on the processor", article: &ArticleRow{1000, 0}, once: true,
		processor: refusesRepeats, points: taken, build: transaction,
	},
	{
		label: "Postgres claim, unique key on the processor", article: &ArticleRow{1000, 0}, once: true,
		processor: refusesRepeats, points: taken, build: claim,
	},

	{label: "Store.Do, local write", once: true, points: taken, build: do},
	{label: "Hold, StaleRerun, unique key on the processor", once: true, processor: refusesRepeats, points: taken, build: rerun},
	{label: "steps, StaleRerun, unique key on the processor", once: true, processor: refusesRepeats, points: aroundStep, build: steps},
	{label: "Hold, StaleResolve, processor reports pending", once: true, processor: reportsPending, points: taken, build: resolve},
	{label: "Hold, StaleResolve, the same, calls land late", once: true, processor: reportsPending, points: sent, build: resolve},
	{label: "Hold, StaleRefuse, processor can do neither", once: true, processor: knowsNoKeys, points: taken, operator: true, build: refuse},
	{label: "Hold, StaleResolve, late calls not reported", processor: reportsLanded, points: sent, build: resolve},
}

func claim(b crashBench) design.Design {
	return design.Claim{Pool: b.pool, Card: b.card, Stale: crashStale, At: b.at}
}

func transaction(b crashBench) design.Design {
	return design.Transaction{Pool: b.pool, Card: b.card, At: b.at}
}

func localTransaction(b crashBench) design.Design {
	return design.Transaction{Pool: b.pool, At: b.at}
}

func redisLock(b crashBench) design.Design {
	return design.RedisLock{Client: b.redis, Card: b.card, Stale: crashStale, At: b.at}
}

func do(b crashBench) design.Design {
	return design.Do{Store: &idem.Store{Pool: b.pool}, At: b.at}
}

func rerun(b crashBench) design.Design  { return b.hold(idem.Policy{Stale: idem.StaleRerun}) }
func refuse(b crashBench) design.Design { return b.hold(idem.Policy{Stale: idem.StaleRefuse}) }

func resolve(b crashBench) design.Design {
	return b.hold(idem.Policy{Stale: idem.StaleResolve, Resolve: b.card.Resolve})
}

func steps(b crashBench) design.Design {
	return design.Steps{Store: b.store(idem.Policy{Stale: idem.StaleRerun}), Card: b.card, At: b.at}
}

// late reports whether the calls of those that are killed land late.
func (d crashDesign) late() bool { return d.points[0] == design.Sent }
