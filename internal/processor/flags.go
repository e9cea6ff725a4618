package processor

import "flag"

// Flags adds a flag for each field of b, whose values are the defaults.
func (b *Behaviour) Flags(f *flag.FlagSet) {
	f.TextVar(&b.Repeat, "repeat", b.Repeat, "`what` becomes of a repeated key: replay (the first answer), error (409 duplicate_key), charge (again)")
	f.TextVar(&b.Conflict, "conflict", b.Conflict, "`what` becomes of a repeat while the first call runs: wait, error (409 in_progress)")
	f.TextVar(&b.Asked, "asked", b.Asked, "`what` it says when asked: pending (of what has not landed), landed (404 until then), nothing (404), refuse (501)")
	f.DurationVar(&b.Latency, "latency", b.Latency, "time until a charge lands")
	f.DurationVar(&b.Lag, "lag", b.Lag, "time from then until the answer")
	f.BoolVar(&b.Hold, "hold", b.Hold, "nothing lands until PUT /v1/behaviour says otherwise")
	f.IntVar(&b.SlowCall, "slow-call", b.SlowCall, "`n`: latency, lag and hold are for the n-th call of a key alone; 0: for all")
	f.BoolVar(&b.DeclineAll, "decline-all", b.DeclineAll, "decline everything, not only card "+DeclinedCard)
	f.IntVar(&b.Unavailable, "unavailable", b.Unavailable, "answer the first `n` calls of a key with 503, before anything happens")
	f.Float64Var(&b.UnavailableRate, "unavailable-rate", b.UnavailableRate, "answer this `share` of the others with 503, 0 to 1")
	f.IntVar(&b.Drop, "drop", b.Drop, "drop the connection of the first `n` calls of a key, after the charge")
}
