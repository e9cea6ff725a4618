package main

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// A row is a key in the database, before it is written.
type row struct {
	tenant, endpoint, key, status string
	leased                        bool
	lockedFor                     time.Duration // below 0: the lease is past
	expiresIn, age                time.Duration
}

func expired(r *row) { r.expiresIn = -time.Minute }

// old began its life so long ago.
func old(age time.Duration) func(*row) { return func(r *row) { r.age = age } }

func of(tenant string) func(*row) { return func(r *row) { r.tenant = tenant } }
func at(endpoint string) func(*row) {
	return func(r *row) { r.endpoint = endpoint }
}

func newRow(key, status string, mutate []func(*row)) row {
	r := row{tenant: "acme", endpoint: "POST /charges", key: key, status: status, expiresIn: time.Hour}
	for _, f := range mutate {
		f(&r)
	}
	return r
}

func finished(key string, mutate ...func(*row)) row { return newRow(key, "committed", mutate) }
func refused(key string, mutate ...func(*row)) row  { return newRow(key, "failed", mutate) }

// givenBack has no steps.
func givenBack(key string, mutate ...func(*row)) row { return newRow(key, "released", mutate) }

// inFlight holds its lease for another hour, or lost it an hour ago.
func inFlight(key string, mutate ...func(*row)) row {
	r := newRow(key, "in_flight", mutate)
	r.leased, r.lockedFor = true, time.Hour
	return r
}

func abandoned(key string, mutate ...func(*row)) row {
	r := inFlight(key, mutate...)
	r.lockedFor = -time.Hour
	return r
}

// insert writes rows. Finished ones have an answer of 201 with two headers and a body with every kind of byte, refused ones one of 402.
func (d *testDatabase) insert(t *testing.T, rows ...row) {
	t.Helper()
	for _, r := range rows {
		_, err := d.conn.Exec(t.Context(), `
			INSERT INTO idem.keys (tenant_id, endpoint, key, status, fingerprint, fence, claim_id, attempts, leased,
				claimed_at, created_at, expires_at, locked_until, completed_at, response_status, response_header, response_body, provider_ref)
			SELECT @tenant, @endpoint, @key, @status, '\x01abcd', 7, gen_random_uuid(), 2, @leased,
				now(), now() - @age::interval, now() + @expires_in::interval,
				CASE @status::text WHEN 'in_flight' THEN now() + @locked_for::interval END,
				CASE WHEN @status::text IN ('committed', 'failed') THEN now() END,
				CASE @status::text WHEN 'committed' THEN 201 WHEN 'failed' THEN 402 END,
				CASE @status::text WHEN 'committed' THEN E'Content-Type: text/plain\r\nLink: <a>\r\nLink: <b>\r\n'::bytea
					WHEN 'failed' THEN '\x'::bytea END,
				CASE @status::text WHEN 'committed' THEN '\x7061696400ff1b5b326a0a'::bytea END,
				CASE @status::text WHEN 'committed' THEN 'ch_1' END`,
			pgx.NamedArgs{"tenant": r.tenant, "endpoint": r.endpoint, "key": r.key, "status": r.status, "leased": r.leased,
				"expires_in": r.expiresIn, "locked_for": r.lockedFor, "age": r.age})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// keys are those that are left, in order.
func (d *testDatabase) keys(t *testing.T) string {
	t.Helper()
	return d.text(t, "SELECT coalesce(string_agg(key, ' ' ORDER BY key), '') FROM idem.keys")
}
