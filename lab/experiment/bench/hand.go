package bench

import (
	"bytes"
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/gen"
	"github.com/pgidem/pgidem/idem"
)

var (
	//go:embed charge.sql
	chargeSQL string
	//go:embed by_hand.sql
	byHandSQL string
	//go:embed by_hand_claim.sql
	byHandClaimSQL string
	//go:embed by_hand_finish.sql
	byHandFinishSQL string
	//go:embed replay_insert.sql
	replayInsertSQL string
	//go:embed replay_select.sql
	replaySelectSQL string
)

// answer is what every call is answered with: 100 bytes.
var answer = []byte(strings.Repeat("0123456789", 10))

var errAnswer = errors.New("the answer is not the first caller's")

// querier is a pool or a transaction.
type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

func charge(ctx context.Context, db querier, key string) error {
	var id int64
	return db.QueryRow(ctx, chargeSQL, key).Scan(&id)
}

// hand is what is written by hand, with pgx and nothing else.
type hand struct{ pool *pgxpool.Pool }

func (h hand) charge(ctx context.Context, key string) error { return charge(ctx, h.pool, key) }

// claim is article 003's recommended default: the key, the charge and the mark commit one after the other.
func (h hand) claim(ctx context.Context, key string) error {
	var mine string
	if err := h.pool.QueryRow(ctx, byHandClaimSQL, key).Scan(&mine); err != nil {
		return err
	}
	if err := charge(ctx, h.pool, key); err != nil {
		return err
	}
	_, err := h.pool.Exec(ctx, byHandFinishSQL, key, answer)
	return err
}

// transaction is the statements of Store.Do, of those that a new key needs, as a transaction that is written down.
func (h hand) transaction(ctx context.Context, key string) error {
	q, fingerprint := gen.New(), idem.FingerprintOf([]byte(key))
	claim := gen.KeyClaimParams{
		Lease: 90 * time.Second, Retention: 24 * time.Hour, ClaimID: newClaimID(),
		TenantID: tenant, Endpoint: endpoint, Key: key, Fingerprint: []byte(fingerprint),
	}
	return pgx.BeginFunc(ctx, h.pool, func(tx pgx.Tx) error {
		claimed, err := q.KeyClaim(ctx, tx, claim)
		if err != nil {
			return err
		}
		if err := charge(ctx, tx, key); err != nil {
			return err
		}
		_, err = q.KeyCompleteTx(ctx, tx, gen.KeyCompleteTxParams{
			Retention: claim.Retention, ClaimID: claim.ClaimID, ResponseStatus: 201, Status: "committed", ResponseHeader: []byte{},
			ResponseBody: answer, TenantID: tenant, Endpoint: endpoint, Key: key, Fence: claimed.Fence,
		})
		return err
	})
}

func newClaimID() (id pgtype.UUID) {
	_, _ = rand.Read(id.Bytes[:]) // never fails
	id.Valid = true
	return id
}

// replay inserts and then reads, in one round trip.
func (h hand) replay(ctx context.Context, key string) error {
	fingerprint := idem.FingerprintOf([]byte(key))
	var b pgx.Batch
	b.Queue(replayInsertSQL, newClaimID(), tenant, endpoint, key, []byte(fingerprint))
	b.Queue(replaySelectSQL, tenant, endpoint, key)
	results := h.pool.SendBatch(ctx, &b)
	inserted, err := results.Exec()
	if err == nil {
		err = isAnswer(results.QueryRow(), fingerprint)
	}
	if err == nil && inserted.RowsAffected() > 0 {
		err = errors.New("a finished key was claimed")
	}
	return errors.Join(err, results.Close())
}

// look only reads.
func (h hand) look(ctx context.Context, key string) error {
	return isAnswer(h.pool.QueryRow(ctx, replaySelectSQL, tenant, endpoint, key), idem.FingerprintOf([]byte(key)))
}

func isAnswer(row pgx.Row, fingerprint idem.Fingerprint) error {
	var (
		status                 int32
		stored, header, stands []byte
	)
	if err := row.Scan(&stored, &status, &header, &stands); err != nil {
		return err
	}
	if string(stored) != string(fingerprint) || status != 201 || !bytes.Equal(stands, answer) {
		return fmt.Errorf("%w: status %d, %d bytes", errAnswer, status, len(stands))
	}
	return nil
}
