package mismatch

import (
	"net/http"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/idem"
)

// served is a design behind HTTP.
type served struct {
	name    string
	ours    bool
	handler http.Handler
}

// The designs that findings speak of.
const (
	noFingerprint = "no fingerprint"
	fingerBody    = "fingerprint of the body"
	fingerBoth    = "fingerprint of endpoint and body"
	storeDo       = "pgidem Store.Do"
	handlerTx     = "pgidem HandlerTx"
	tenantScope   = "pgidem HandlerTx (ScopeTenant)"
)

// designs tell requests apart, or do not.
func designs(pool *pgxpool.Pool, store *idem.Store) []served {
	writes := writing{asString, decoded}
	return []served{
		{noFingerprint, false, shop{pool: pool, writes: writes}.handler()},
		{fingerBody, false, shop{pool: pool, writes: writes, fingerprint: ofBody}.handler()},
		{fingerBoth, false, shop{pool: pool, writes: writes, fingerprint: ofBoth}.handler()},
		{storeDo, true, plain(store)},
		{handlerTx, true, middleware(store)},
		{tenantScope, true, middleware(store.With(idem.Policy{Scope: idem.ScopeTenant}))},
	}
}

// The writers that findings speak of.
const (
	stringTwice  = "string, and string again"
	numberString = "number, then ->> out of jsonb"
	throughFloat = "number, then jsonb through any"
	rawColumn    = "number, then the jsonb column itself"
)

// writers write the id of a charge, first and later.
func writers(pool *pgxpool.Pool, store *idem.Store) []served {
	with := func(w writing) http.Handler { return shop{pool: pool, fingerprint: ofBoth, writes: w}.handler() }
	return []served{
		{stringTwice, false, with(writing{asString, decoded})},
		{numberString, false, with(writing{receipt, extracted})},
		{throughFloat, false, with(writing{receipt, decoded})},
		{rawColumn, false, with(writing{receipt, column})},
		{storeDo, true, plain(store)},
		{handlerTx, true, middleware(store)},
	}
}
