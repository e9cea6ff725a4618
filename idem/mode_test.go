package idem_test

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/idem"
)

// C35: every query mode of pgx carries every parameter of the protocol: bytes that are no text, nil and empty ones, durations,
// UUIDs. make test-modes runs the whole suite under each.
func TestC35EveryQueryModeCarriesEveryParameter(t *testing.T) {
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe,
		pgx.QueryExecModeDescribeExec, pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol} {
		t.Run(mode.String(), func(t *testing.T) {
			b := setup(t, func(c *pgxpool.Config) { c.ConnConfig.DefaultQueryExecMode = mode })
			store := b.newStore(idem.Policy{Retention: time.Hour, Stale: idem.StaleRerun, Handler: `a'b\c`})
			for name, body := range map[string][]byte{"nil": nil, "empty": {}, "binary": []byte("\x00\xff'\\x41\n"), "json": []byte(`{"a":"\u0000"}`)} {
				key := b.key(name + ` 'quoted' \ $1`)
				key.Request = "\x00\xff"
				answer := &idem.Response{Status: 201, Body: body, ProviderRef: `ch_'1`, Header: map[string][]string{"X": {"a\xe9'b"}}}
				for _, call := range []func(idem.Key) (*idem.Response, error){
					func(key idem.Key) (*idem.Response, error) {
						key.ID += " do"
						return store.Do(b.ctx, key, func(context.Context, pgx.Tx) (*idem.Response, error) { return answer, nil })
					},
					func(key idem.Key) (*idem.Response, error) {
						key.ID += " hold"
						return store.Hold(b.ctx, key, func(ctx context.Context, l *idem.Lease) (*idem.Response, error) { return answer, l.Extend(ctx) })
					},
				} {
					for _, replayed := range []bool{false, true} {
						resp, err := call(key)
						if err != nil {
							t.Fatalf("%s: %v", name, err)
						}
						if resp.Replayed != replayed || !bytes.Equal(resp.Body, body) || resp.Header["X"][0] != "a\xe9'b" || resp.ProviderRef != "ch_'1" {
							t.Errorf("%s: got %+v, want %+v with Replayed %v", name, resp, answer, replayed)
						}
					}
				}
			}
			// The other statements: give back, abandon, take over, renew, look up, sweep.
			key := b.key("lease")
			lease := b.claim(store, key)
			if err := lease.Release(b.ctx); err != nil {
				t.Fatal(err)
			}
			lease = b.claim(store, key)
			if err := lease.Abandon(b.ctx); err != nil {
				t.Fatal(err)
			}
			lease = b.claim(store, key)
			if err := lease.Complete(b.ctx, &idem.Response{}); err != nil {
				t.Fatal(err)
			}
			b.age(key, 2*time.Hour)
			if err := b.claim(store, key).Complete(b.ctx, nil); err != nil {
				t.Fatal(err)
			}
			if record, err := store.Lookup(b.ctx, key); err != nil || record.State != idem.StateCommitted || record.Handler != `a'b\c` {
				t.Errorf("looked up %+v, %v", record, err)
			}
			b.age(key, 2*time.Hour)
			if stats, err := (&idem.Sweeper{Pool: b.pool}).Sweep(b.ctx); err != nil || stats.Deleted != 1 {
				t.Errorf("swept %+v, %v; want the one key", stats, err)
			}
		})
	}
}
