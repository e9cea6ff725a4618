package idem_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/pgidem/pgidem/idem"
)

// stepVersions are all row versions of idem.steps, as versions are of idem.keys.
func (b *bundle) stepVersions() []string {
	b.t.Helper()
	rows, _ := b.pool.Query(b.ctx, "SELECT format('%s %s %s %s %s', key, name, ctid, xmin, xmax) FROM idem.steps ORDER BY 1")
	all, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		b.t.Fatal(err)
	}
	return all
}

// P9 where nobody holds the key: while Settle runs, where the outcome is unknown, and a replay of work in steps.
func TestP9AnswersAboutAbandonedKeysAreFree(t *testing.T) {
	b := setup(t)
	work := func(ctx context.Context, l *idem.Lease) (*idem.Response, error) {
		var d downstream
		_, err := l.Step(ctx, "charge", d.charge)
		return created(), err
	}
	asks := b.newStore(resolving(verdict(idem.Found, nil, errors.ErrUnsupported)))
	refuses := b.newStore(idem.Policy{Lease: time.Minute, Wait: -1})
	if _, err := asks.Hold(b.ctx, b.key("finished"), work); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"settling", "unknown"} {
		b.held(asks, id)
		b.age(b.key(id), 90*time.Second)
	}
	keys, steps := b.versions(), b.stepVersions()
	for range 3 {
		if resp, err := asks.Hold(b.ctx, b.key("finished"), holdMustNotRun(t)); err != nil || !resp.Replayed {
			t.Errorf("%+v, %v", resp, err)
		}
		_, err := asks.Hold(b.ctx, b.key("settling"), holdMustNotRun(t))
		wantIs(t, err, idem.ErrInFlight)
		_, err = refuses.Hold(b.ctx, b.key("unknown"), holdMustNotRun(t))
		wantIs(t, err, idem.ErrOutcomeUnknown)
		_, err = asks.Do(b.ctx, b.key("unknown"), mustNotRun(t))
		wantIs(t, err, idem.ErrOutcomeUnknown)
	}
	if diff := cmp.Diff(keys, b.versions()); diff != "" {
		t.Errorf("row versions or row locks differ (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(steps, b.stepVersions()); diff != "" {
		t.Errorf("of steps (-before +after):\n%s", diff)
	}
}
