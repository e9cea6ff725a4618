package mismatch

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/idem/idemhttp"
)

// shop is article 000's handler: a unique key as the referee, the answer stored as jsonb, all in one transaction.
type shop struct {
	pool *pgxpool.Pool
	// fingerprint says which request it is. nil: the table has key, status and response, and nothing that tells requests apart.
	fingerprint func(endpoint string, body []byte) string
	writes      writing
}

var (
	//go:embed claim.sql
	claimSQL string
	//go:embed prior.sql
	priorSQL string
	//go:embed finish.sql
	finishSQL string
)

// ofBoth is the article's fingerprint: SHA-256 over endpoint and body.
func ofBoth(endpoint string, body []byte) string {
	return ofBody("", append([]byte(endpoint+" "), body...))
}

// ofBody forgets the endpoint.
func ofBody(_ string, body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

func (s shop) handler() http.Handler {
	mux := http.NewServeMux()
	for kind, endpoint := range endpoints {
		mux.HandleFunc(endpoint, func(w http.ResponseWriter, r *http.Request) {
			answer, err := s.purchase(r, kind)
			if err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			send(w, answer.status, answer.body, answer.replayed)
		})
	}
	return mux
}

// answer is what a request gets.
type answer struct {
	status   int
	body     []byte
	replayed bool
}

func (s shop) purchase(r *http.Request, kind string) (a answer, err error) {
	ctx, key := r.Context(), r.Header.Get(idemhttp.HeaderKey)
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return a, err
	}
	var o order
	if err := json.Unmarshal(body, &o); err != nil {
		return a, err
	}
	var fingerprint *string
	if s.fingerprint != nil {
		text := s.fingerprint(endpoints[kind], body)
		fingerprint = &text
	}
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		err := tx.QueryRow(ctx, claimSQL, key, fingerprint).Scan(&key)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			a, err = s.prior(ctx, tx, key, fingerprint)
			return err
		case err != nil:
			return err
		}
		id, err := move(ctx, tx, key, kind, o)
		if err != nil {
			return err
		}
		a = answer{status: http.StatusOK, body: s.writes.first(id)}
		_, err = tx.Exec(ctx, finishSQL, key, string(a.body))
		return err
	})
	return a, err
}

// prior is the answer to a key that is there.
func (s shop) prior(ctx context.Context, tx pgx.Tx, key string, fingerprint *string) (answer, error) {
	var before *string
	var kept stored
	if err := tx.QueryRow(ctx, priorSQL, key).Scan(&before, &kept.response, &kept.id); err != nil {
		return answer{}, err
	}
	if fingerprint != nil && (before == nil || *before != *fingerprint) {
		return answer{status: http.StatusUnprocessableEntity, body: []byte(`{"error":"idempotency_key_reuse"}`)}, nil
	}
	body, err := s.writes.replay(kept)
	return answer{status: http.StatusOK, body: body, replayed: true}, err
}
