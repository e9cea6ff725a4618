package design

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgconn"
)

// Retry runs a payment again while PostgreSQL refuses its transaction as not serializable: the loop that SERIALIZABLE asks of
// every caller (article 000).
type Retry struct {
	Design
	Refused func() // called after every refusal, by many goroutines; nil: nobody is told
}

const (
	serializationFailure = "40001" // an SQLSTATE
	retryTries           = 20      // the last refusal is then the caller's, as one that never ends would be a fault
)

func (d Retry) Pay(ctx context.Context, p Payment) (o Outcome, err error) {
	for range retryTries {
		o, err = d.Design.Pay(ctx, p)
		refused := new(pgconn.PgError)
		if !errors.As(err, &refused) || refused.Code != serializationFailure {
			break
		}
		if d.Refused != nil {
			d.Refused()
		}
	}
	return o, err
}
