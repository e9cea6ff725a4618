package crash

import (
	"github.com/pgidem/pgidem/internal/processor"
	"github.com/pgidem/pgidem/lab/design"
)

// variant is a row of the table: a design, and the processor that it charges at.
type variant struct {
	label     string
	claim     string   // what the article says of it, or the product
	article   *Article // nil: a row of ours
	once      bool     // the two together promise one charge
	redis     bool     // it needs a redis-server
	processor processor.Behaviour
	points    []design.Point // where workers are killed, in turn
	operator  bool           // who is told that the outcome is unknown leaves it to an operator
	build     func(p parts) design.Design
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

// The two at whose processor calls land late.
const (
	lateReported = "Hold, StaleResolve, the same, calls land late"
	lateDenied   = "Hold, StaleResolve, late calls not reported"
)

var variants = []variant{
	{
		label:   "Postgres claim, takeover when stale",
		claim:   "A claim that is taken over when it is stale charges again at every crash.",
		article: &Article{1100, 100}, processor: knowsNoKeys, points: taken, build: claim,
	},
	{
		label:   "Postgres transaction, local write",
		claim:   "A charge that is a row of the key's own transaction is never repeated: a crash rolls both back.",
		article: &Article{1000, 0}, once: true, points: taken, build: localTransaction,
	},
	{
		label:   "Postgres transaction, external call",
		claim:   "A transaction around an external call guards nothing: it is called again at every crash.",
		article: &Article{1100, 100}, processor: knowsNoKeys, points: taken, build: transaction,
	},
	{
		label:   "Redis SET NX, expiry as takeover",
		claim:   "Redis fails the same way: its key expires, and whoever comes next charges again.",
		article: &Article{1100, 100}, redis: true, processor: knowsNoKeys, points: taken, build: redisLock,
	},
	{
		label:   "Postgres transaction, unique key on the processor",
		claim:   "With a unique key on the processor the transaction's duplicates vanish.",
		article: &Article{1000, 0}, once: true, processor: refusesRepeats, points: taken, build: transaction,
	},
	{
		label:   "Postgres claim, unique key on the processor",
		claim:   "With a unique key on the processor the claim's duplicates vanish, and a takeover is safe.",
		article: &Article{1000, 0}, once: true, processor: refusesRepeats, points: taken, build: claim,
	},

	{
		label: "Store.Do, local write",
		claim: "Do has the effect once: key and charge commit together or not at all.",
		once:  true, points: taken, build: do,
	},
	{
		label: "Hold, StaleRerun, unique key on the processor",
		claim: "StaleRerun charges once where the processor refuses a repeated key.",
		once:  true, processor: refusesRepeats, points: taken, build: rerun,
	},
	{
		label: "steps, StaleRerun, unique key on the processor",
		claim: "A step that is recorded is not run again, and one that is only begun runs under the same downstream key.",
		once:  true, processor: refusesRepeats, points: aroundStep, build: steps,
	},
	{
		label: "Hold, StaleResolve, processor reports pending",
		claim: "StaleResolve charges once at a processor that knows no keys, but can be asked.",
		once:  true, processor: reportsPending, points: taken, build: resolve,
	},
	{
		label: lateReported,
		claim: "StaleResolve charges once also where a dead holder's call lands after the question, if the processor reports it.",
		once:  true, processor: reportsPending, points: sent, build: resolve,
	},
	{
		label: "Hold, StaleRefuse, processor can do neither",
		claim: "StaleRefuse never guesses: a key whose outcome is unknown is listed for an operator, who settles it.",
		once:  true, processor: knowsNoKeys, points: taken, operator: true, build: refuse,
	},
	{
		label: lateDenied,
		claim: "StaleResolve is not for a processor that denies a call which is on its way: it charges again at every crash, " +
			"unless Settle is longer than a call can take.",
		processor: reportsLanded, points: sent, build: resolve,
	},
}

// late reports whether the calls of those that are killed land late.
func (v *variant) late() bool { return v.points[0] == design.Sent }

// row is the variant's row, without figures.
func (v *variant) row() Row {
	return Row{Design: v.label, Ours: v.article == nil, Once: v.once, Article: v.article, Operator: v.operator, claim: v.claim}
}
