package idem_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pgidem/pgidem/idem"
)

var (
	errNoSuchCharge error
	find            func(ctx context.Context, idempotencyKey string) (id string, pending bool, err error)
	mail            func(ctx context.Context, idempotencyKey, to string) error
	stop            context.Context
)

// Three effects: a call that can be asked about, rows of our own, and another call. Whoever runs it again goes on where it stopped.
func ExampleLease_Call() {
	store := &idem.Store{Pool: pool, Policy: idem.Policy{Retention: 72 * time.Hour, Stale: idem.StaleResolve, Settle: 5 * time.Minute}}
	key := idem.Key{Tenant: "acme", Endpoint: "POST /orders", ID: "a-key", Fingerprint: idem.FingerprintJSON(body)}

	resp, err := store.Hold(ctx, key, func(ctx context.Context, l *idem.Lease) (*idem.Response, error) {
		charge, err := l.Call(ctx, idem.Call{
			Name: "charge",
			Do: func(ctx context.Context, downstreamKey string) ([]byte, error) {
				id, err := processor.Charge(ctx, 4900, downstreamKey)
				return []byte(id), err
			},
			Ask: func(ctx context.Context, downstreamKey string) (idem.Verdict, []byte, error) {
				switch id, pending, err := find(ctx, downstreamKey); {
				case errors.Is(err, errNoSuchCharge):
					return idem.Nothing, nil, nil
				case err != nil || pending:
					return idem.Pending, nil, err
				default:
					return idem.Found, []byte(id), nil
				}
			},
		})
		if err != nil {
			return nil, err
		}
		_, err = l.StepTx(ctx, "book", func(ctx context.Context, tx pgx.Tx) ([]byte, error) {
			_, err := tx.Exec(ctx, "INSERT INTO charges (id, cents) VALUES ($1, $2)", string(charge), 4900)
			return nil, err
		})
		if err != nil {
			return nil, err
		}
		_, err = l.Step(ctx, "mail", func(ctx context.Context, downstreamKey string) ([]byte, error) {
			return nil, mail(ctx, downstreamKey, "ada@example.com")
		})
		return &idem.Response{Status: 201, Body: fmt.Appendf(nil, `{"id":%q}`, charge)}, err
	})
	fmt.Println(resp, err)
}

// Finishes what a process left behind whose client never comes back, and hands over what this one has when it is asked to go.
func ExampleCompleter() {
	store := &idem.Store{Pool: pool, Policy: idem.Policy{Retention: 72 * time.Hour, Stale: idem.StaleRerun, Handler: "charge"}}
	charge := func(ctx context.Context, l *idem.Lease) (*idem.Response, error) {
		id, err := processor.Charge(ctx, 4900, l.DownstreamKey("charge")) // the request is l.Request()
		return &idem.Response{Status: 201, Body: []byte(id)}, err
	}
	completer := &idem.Completer{Store: store, Handlers: map[string]idem.Work{"charge": charge}, Logger: slog.Default()}
	go func() { _ = completer.Run(stop) }() // returns when stop ends

	<-stop.Done() // SIGTERM
	grace, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	_ = store.Drain(grace) // takes no more keys, and abandons what has not ended by then
	store.Close()
}
