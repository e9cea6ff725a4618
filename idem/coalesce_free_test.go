package idem_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pgidem/pgidem/idem"
)

// P9 for callers who share statements: what is read of many keys at once writes nothing of ours either.
func TestP9ReadingTogetherIsFree(t *testing.T) {
	const callers = 64
	asked, keys := 100_000, 20_000 // more keys than a process remembers as seen lately
	if testing.Short() {
		asked = 20_000
	}
	a := new(airport)
	b := counted(t, map[string]string{"autovacuum": "off", "fsync": "off"}, a.trace)
	store := b.coalescing(idem.Policy{})
	key := func(i int) idem.Key { return b.key(fmt.Sprint("k", i)) }
	fingerprint := []byte(key(0).Fingerprint)
	// every fourth key is held, the others are finished
	b.exec(`INSERT INTO idem.keys (fence, claimed_at, locked_until, created_at, completed_at, expires_at, claim_id, attempts, leased, tenant_id,
			endpoint, key, status, fingerprint, response_status, response_header, response_body)
		SELECT 1, now(), CASE WHEN held THEN now() + interval '1 hour' END, now(), CASE WHEN NOT held THEN now() END, now() + interval '1 day',
			gen_random_uuid(), 1, held, $1, $2, 'k' || i, CASE WHEN held THEN 'in_flight' ELSE 'committed' END, $3::bytea,
			CASE WHEN NOT held THEN 201 END, CASE WHEN NOT held THEN ''::bytea END, CASE WHEN NOT held THEN convert_to('answer ' || i, 'UTF8') END
		FROM generate_series(0, $4::integer - 1) AS i, LATERAL (SELECT i % 4 = 3 AS held) AS of`, key(0).Tenant, key(0).Endpoint, fingerprint, keys)
	ask := func(ctx context.Context, i int) error {
		k, want := key(i), error(nil)
		switch i % 4 {
		case 2:
			k.Fingerprint, want = idem.FingerprintOf([]byte("$9,000.00")), idem.ErrMismatch
		case 3:
			want = idem.ErrInFlight
		}
		_, resp, err := store.Claim(ctx, k)
		if !errors.Is(err, want) || err == nil && (!resp.Replayed || string(resp.Body) != fmt.Sprint("answer ", i)) {
			return fmt.Errorf("key %d: got %+v, %v; want %v", i, resp, err, want)
		}
		return nil
	}
	all := func(n int) {
		var next atomic.Int64
		storm(callers, func(int) {
			for i := next.Add(1); i <= int64(n) && !t.Failed(); i = next.Add(1) {
				if err := ask(b.ctx, int(i)%keys); err != nil {
					t.Error(err)
				}
			}
		})
	}
	b.exec("VACUUM ANALYZE idem.keys") // and the hint bits are set
	all(keys)
	b.dead()
	b.exec("CHECKPOINT")

	xid, wal, versions := b.nextXid(), b.wal(), b.versions()
	_, before := a.since(0)
	all(asked)
	if n := b.nextXid() - xid; n != 0 {
		t.Errorf("%d transaction ids were given out, want 0", n)
	}
	if n := b.wal() - wal; n > 10*asked/3 { // the server logs things of its own
		t.Errorf("%d bytes of WAL for %d reads", n, asked)
	}
	if diff := cmp.Diff(versions, b.versions()); diff != "" {
		t.Errorf("row versions or row locks differ (-before +after):\n%s", diff)
	}
	if n := b.dead(); n != 0 {
		t.Errorf("%d dead row versions, want 0", n)
	}
	flights, _ := a.since(before, claiming...)
	together := 0
	for _, f := range flights {
		if f.has("KeyClaimMany") {
			together += f.rows()
		}
	}
	if together < asked/2 {
		t.Errorf("%d of %d asked together", together, asked)
	}
	t.Logf("%d asked in %d statements, %d of them with others", asked, len(flights), together)
}
