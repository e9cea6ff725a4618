package design

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Transaction claims the key and charges in one transaction (article 003, design 4). A local charge commits with the key or not
// at all. A call to a processor outside is not undone by a rollback: the next try finds no key and calls again, and what comes
// of that is the processor's to decide.
type Transaction struct {
	Pool  *pgxpool.Pool
	Card  *Card         // nil: the charge is a row of this database
	Delay time.Duration // of a charge here, while the transaction is open
	At    At
}

func (Transaction) Name() string { return "Postgres transaction" }
func (d Transaction) Once() bool { return d.Card == nil }

func (d Transaction) Pay(ctx context.Context, p Payment) (o Outcome, err error) {
	err = pgx.BeginFunc(ctx, d.Pool, func(tx pgx.Tx) error {
		keys := claims{tx}
		mine, err := keys.insert(ctx, p.Key)
		if err != nil {
			return err
		}
		if !mine {
			o, err = keys.look(ctx, p.Key)
			return err
		}
		o = Outcome{Kind: Charged}
		if o.ChargeID, err = chargeAt(ctx, d.Card, tx, p, d.Delay); err != nil {
			return err
		}
		d.At.passes(Taken)
		return keys.finish(ctx, p.Key, o.ChargeID)
	})
	return o, err
}
