package bench

// Ids of arms that others name.
const (
	bare           = "bare"
	redisClaim     = "redis"
	redisPipelined = "redis-pipelined"
	redisPair      = "redis-pair"
	claim          = "claim"
	transaction    = "transaction"
	hold           = "hold"
	holdPair       = "hold-pair"
	holdAlone      = "hold-alone"
	do             = "do"
	batch          = "batch"
	riverInsert    = "river"
	dbosWorkflow   = "dbos"
	replayPair     = "replay-pair"
	replaySelect   = "replay-select"
	replayHold     = "replay-hold"
	replayDo       = "replay-do"
	replayRiver    = "replay-river"
	replayDBOS     = "replay-dbos"
	hotHold        = "hot-hold"
	hotDo          = "hot-do"
	hotReplayHold  = "hot-replay-hold"
	hotReplayDo    = "hot-replay-do"
)

// arms are all of them, in the order of the tables.
func (r *rig) arms() []arm {
	h := hand{r.pool}
	cache, piped := redisArm{r, r.redis}, redisArm{r, r.pipe}
	p := product{r}
	all := []arm{
		{id: bare, name: "bare insert of the charge", pays: true, call: h.charge},
		{id: redisClaim, name: "Redis SET NX", pays: true, call: cache.pay, skipped: r.noRedis},
		{id: redisPipelined, name: "Redis SET NX, auto-pipelined", pays: true, call: piped.pay, skipped: r.noRedis},
		{id: redisPair, name: "Redis SET NX, no charge", call: cache.pair, skipped: r.noRedis},
		{id: claim, name: "claim by hand, three autocommits", pays: true, call: h.claim},
		{id: transaction, name: "transaction by hand", pays: true, call: h.transaction},
		{id: hold, name: "Store.Hold", ours: true, pays: true, call: p.hold(r.store, p.charges)},
		{id: holdPair, name: "Store.Hold, no charge", ours: true, call: p.hold(r.store, nil)},
		{id: holdAlone, name: "Store.Hold, NoCoalescing", ours: true, pays: true, call: p.hold(r.alone, p.charges)},
		{id: do, name: "Store.Do", ours: true, pays: true, call: p.do},
		{id: batch, name: "Store.DoBatch", ours: true, pays: true, call: p.batch},
		{id: riverInsert, name: "River, unique insert", pays: true, call: r.queue.insert},
		{id: dbosWorkflow, name: "DBOS, workflow", pays: true, call: r.flows.run, launch: r.flows.launch},

		{id: replayPair, name: "INSERT and SELECT by hand", keys: finished, call: h.replay, finish: p.finish},
		{id: replaySelect, name: "bare SELECT", keys: finished, call: h.look, finish: p.finish},
		{id: replayHold, name: "Store.Hold, replay", ours: true, keys: finished, call: p.holdReplays, finish: p.finish},
		{id: replayDo, name: "Store.Do, replay", ours: true, keys: finished, call: p.doReplays, finish: p.finish},
		{id: replayRiver, name: "River, replay", keys: finished, call: r.queue.replays, finish: r.queue.insert},
		{id: replayDBOS, name: "DBOS, replay", keys: finished, call: r.flows.run, finish: r.flows.run, launch: r.flows.launch},

		{id: hotHold, name: "Store.Hold, new hot keys", ours: true, keys: hot, pays: true, call: p.hold(r.store, p.charges)},
		{id: hotDo, name: "Store.Do, new hot keys", ours: true, keys: hot, pays: true, call: p.do},
		{
			id: hotReplayHold, name: "Store.Hold, replay of one key", ours: true, keys: hotFinished,
			call: p.holdReplays, finish: p.finish,
		},
		{
			id: hotReplayDo, name: "Store.Do, replay of one key", ours: true, keys: hotFinished,
			call: p.doReplays, finish: p.finish,
		},
	}
	return all
}

// ids are those of all arms.
func ids() []string {
	var ids []string
	for _, a := range (&rig{queue: new(queue), flows: new(flows)}).arms() {
		ids = append(ids, a.id)
	}
	return ids
}
