package crash

import (
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/lab/design"
)

// parts is what a worker has to build a design from.
type parts struct {
	pool  *pgxpool.Pool
	redis *redis.Client
	card  *design.Card
	at    design.At
}

func claim(p parts) design.Design {
	return design.Claim{Pool: p.pool, Card: p.card, Stale: stale, At: p.at}
}

func transaction(p parts) design.Design {
	return design.Transaction{Pool: p.pool, Card: p.card, At: p.at}
}

func localTransaction(p parts) design.Design {
	return design.Transaction{Pool: p.pool, At: p.at}
}

func redisLock(p parts) design.Design {
	return design.RedisLock{Client: p.redis, Card: p.card, Stale: stale, At: p.at}
}

func do(p parts) design.Design {
	return design.Do{Store: &idem.Store{Pool: p.pool}, At: p.at}
}

func rerun(p parts) design.Design  { return p.hold(idem.Policy{Stale: idem.StaleRerun}) }
func refuse(p parts) design.Design { return p.hold(idem.Policy{Stale: idem.StaleRefuse}) }

func resolve(p parts) design.Design {
	return p.hold(idem.Policy{Stale: idem.StaleResolve, Resolve: p.card.Resolve})
}

func steps(p parts) design.Design {
	return design.Steps{Store: p.store(idem.Policy{Stale: idem.StaleRerun}), Card: p.card, At: p.at}
}

func (p parts) hold(policy idem.Policy) design.Design {
	return design.HoldOutside{Store: p.store(policy), Card: p.card, At: p.at}
}

func (p parts) store(policy idem.Policy) *idem.Store {
	policy.Lease, policy.Wait = lease, -1 // the client comes again by itself
	return &idem.Store{Pool: p.pool, Policy: policy}
}
