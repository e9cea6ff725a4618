package idem_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/gen"
	"github.com/pgidem/pgidem/idem"
)

var (
	ctx       context.Context
	pool      *pgxpool.Pool
	body      []byte
	processor interface {
		Charge(ctx context.Context, cents int, idempotencyKey string) (id string, err error)
	}
	errBusy, errDeclined error
)

// Atomic mode: the effect is a row in this database. Key, row and answer commit together or not at all.
func ExampleStore_Do() {
	store := &idem.Store{Pool: pool, Policy: idem.Policy{Retention: 72 * time.Hour}}

	key := idem.Key{
		Tenant:      "acme",
		Endpoint:    "POST /orders",
		ID:          "5f0c1c0e-8d7e-4f6b-9a0f-2f3d1f6a7b01", // the client's Idempotency-Key
		Fingerprint: idem.FingerprintJSON(body),
	}
	resp, err := store.Do(ctx, key, func(ctx context.Context, tx pgx.Tx) (*idem.Response, error) {
		var id int64
		err := tx.QueryRow(ctx, "INSERT INTO orders (cents) VALUES ($1) RETURNING id", 4900).Scan(&id)
		if err != nil {
			return nil, err // rolled back, and the key is free
		}
		return &idem.Response{Status: 201, Body: fmt.Appendf(nil, `{"id":%d}`, id)}, nil
	})
	switch {
	case errors.Is(err, idem.ErrInFlight): // 409, Retry-After: idem.RetryAfter(err)
	case errors.Is(err, idem.ErrMismatch): // 422
	case err == nil:
		fmt.Println(resp.Status, resp.Replayed)
	}
}

// Atomic mode in one round trip: the statements that make the effect also make its answer.
func ExampleStore_DoBatch() {
	store := &idem.Store{Pool: pool, Policy: idem.Policy{Retention: 72 * time.Hour}}

	key := idem.Key{Tenant: "acme", Endpoint: "POST /withdrawals", ID: "a-key", Fingerprint: idem.FingerprintJSON(body)}
	resp, err := store.DoBatch(ctx, key, func(b *idem.Batch) {
		b.Queue("INSERT INTO withdrawals (account, cents) VALUES ($1, $2)", 7, 4900)
		b.Queue("WITH paid AS (UPDATE accounts SET cents = cents - $2 WHERE id = $1 AND cents >= $2 RETURNING cents) "+
			"SELECT idem.answer(201, convert_to(json_build_object('left', cents)::text, 'UTF8')) FROM paid", 7, 4900)
	})
	switch {
	case errors.Is(err, idem.ErrNoAnswer): // too little on the account: nothing was changed, and the key is free
	case err == nil:
		fmt.Println(resp.Status, resp.Replayed)
	}
}

// Lease mode: the effect is a call to a card processor that refuses a repeated key, so an abandoned key may be run again.
func ExampleStore_Hold() {
	store := &idem.Store{Pool: pool, Policy: idem.Policy{Retention: 72 * time.Hour, Lease: time.Minute, Stale: idem.StaleRerun}}
	defer store.Close()

	key := idem.Key{Tenant: "acme", Endpoint: "POST /charges", ID: "a-key", Fingerprint: idem.FingerprintJSON(body)}
	resp, err := store.Hold(ctx, key, func(ctx context.Context, l *idem.Lease) (*idem.Response, error) {
		charge, err := processor.Charge(ctx, 4900, l.DownstreamKey("charge"))
		switch {
		case errors.Is(err, errDeclined): // an outcome: recorded, and replayed
			return &idem.Response{Status: 402, Failed: true, Body: []byte(`{"error":"declined"}`)}, nil
		case errors.Is(err, errBusy): // not an outcome: the key is given back
			return nil, idem.Transient(err)
		case err != nil: // may have happened: the key is left unknown
			return nil, err
		}
		return &idem.Response{Status: 201, ProviderRef: charge, Body: fmt.Appendf(nil, `{"id":%q}`, charge)}, nil
	})
	fmt.Println(resp, err)
}

// A transaction of the caller's own, with more in it than the key's effect. The answer is one once it has committed.
func ExampleStore_DoTx() {
	store := &idem.Store{Pool: pool, Policy: idem.Policy{Retention: 72 * time.Hour}}
	key := idem.Key{Tenant: "acme", Endpoint: "POST /orders", ID: "a-key", Fingerprint: idem.FingerprintJSON(body)}

	var resp *idem.Response
	err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) (err error) {
		resp, err = store.DoTx(ctx, tx, key, func(ctx context.Context, tx pgx.Tx) (*idem.Response, error) {
			_, err := tx.Exec(ctx, "INSERT INTO orders (cents) VALUES ($1)", 4900)
			return &idem.Response{Status: 201}, err
		})
		return err
	})
	fmt.Println(resp, err)
}

// The sweep as a goroutine of the service's own. From cron: idem sweep.
func ExampleSweeper_Run() {
	sweeper := &idem.Sweeper{Pool: pool, Every: time.Hour, Logger: slog.Default()}
	_ = sweeper.Run(ctx) // returns when ctx ends
}

// The protocol by hand: gen alone, in a transaction of the caller's own. What the helper adds is the bounded wait, the guard
// around fn, and the answer to a COMMIT that nobody heard.
func Example_gen() {
	q := gen.New()
	claimID := pgtype.UUID{Bytes: [16]byte{1, 2, 3}, Valid: true} // random, made anew for each claim
	fingerprint := []byte(idem.FingerprintOf(body))

	err := pgx.BeginTxFunc(ctx, pool, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, func(tx pgx.Tx) error {
		claimed, err := q.KeyClaim(ctx, tx, gen.KeyClaimParams{
			TenantID: "acme", Endpoint: "POST /orders", Key: "a-key",
			Fingerprint: fingerprint, ClaimID: claimID, Lease: 90 * time.Second, Retention: 72 * time.Hour,
		})
		if errors.Is(err, pgx.ErrNoRows) { // somebody else's: read whose, in a statement of its own
			prior, err := q.KeyLoad(ctx, tx, gen.KeyLoadParams{TenantID: "acme", Endpoint: "POST /orders", Key: "a-key"})
			switch {
			case errors.Is(err, pgx.ErrNoRows): // swept in between: claim again, three times in all, then 409
			case err != nil:
				return err
			case string(prior.Fingerprint) != string(fingerprint): // 422
			case prior.Status == "committed": // replay prior.ResponseBody
			default: // 409
			}
			return nil
		}
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "INSERT INTO orders (cents) VALUES ($1)", 4900); err != nil {
			return err
		}
		_, err = q.KeyCompleteTx(ctx, tx, gen.KeyCompleteTxParams{
			TenantID: "acme", Endpoint: "POST /orders", Key: "a-key", Fence: claimed.Fence, ClaimID: claimID,
			Status: "committed", ResponseStatus: 201, ResponseHeader: []byte{}, ResponseBody: []byte(`{}`), Retention: 72 * time.Hour,
		})
		return err
	})
	fmt.Println(err)
}
