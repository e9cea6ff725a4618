package idem_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/internal/pgproxy"
)

// standing is the answer that a lease recorded first. Every part of it can be stored in more than one way.
func standing() *idem.Response {
	return &idem.Response{
		Status: 201, ProviderRef: "ch_1", Body: []byte("49"),
		Header: map[string][]string{"Location": {"/charges/1"}, "Link": {"<a>", "<b>"}},
	}
}

// changed is standing with one thing about it changed.
func changed(change func(*idem.Response)) *idem.Response {
	r := standing()
	change(r)
	return r
}

// completesTx records r beside nothing, and commits.
func (b *bundle) completesTx(ctx context.Context, l *idem.Lease, r *idem.Response) error {
	return pgx.BeginFunc(ctx, b.pool, func(tx pgx.Tx) error { return l.CompleteTx(ctx, tx, r) })
}

// wantStanding checks that the next caller gets r.
func (b *bundle) wantStanding(key idem.Key, r *idem.Response) {
	b.t.Helper()
	lease, got, err := b.store.Claim(b.ctx, key)
	if err != nil || lease != nil || !got.Replayed || got.Status != r.Status || string(got.Body) != string(r.Body) {
		b.t.Errorf("the next caller got %+v, %v; want a replay of %+v", got, err, r)
	}
}

// P2 for the lease's own holder: Complete says nil to the answer that stands and to no other, compared as it is stored.
func TestCompleteSaysNilOnlyToTheAnswerThatStands(t *testing.T) {
	b := setup(t)
	for name, test := range map[string]struct {
		second *idem.Response
		same   bool
	}{
		"the same":                     {standing(), true},
		"stored the same":              {changed(func(r *idem.Response) { r.Header["Location"][0] += " "; r.Header["bad name"] = []string{"x"} }), true},
		"with what the Store sets":     {changed(func(r *idem.Response) { r.Replayed, r.CompletedAt = true, time.Now() }), true},
		"another status":               {changed(func(r *idem.Response) { r.Status = 200 }), false},
		"another body":                 {changed(func(r *idem.Response) { r.Body = []byte("9000") }), false},
		"no body":                      {changed(func(r *idem.Response) { r.Body = nil }), false},
		"a body that was not kept":     {changed(func(r *idem.Response) { r.BodyDropped = true }), false},
		"another header":               {changed(func(r *idem.Response) { r.Header["Location"][0] = "/charges/2" }), false},
		"lines in another order":       {changed(func(r *idem.Response) { r.Header["Link"] = []string{"<b>", "<a>"} }), false},
		"no header":                    {changed(func(r *idem.Response) { r.Header = nil }), false},
		"another name of the effect":   {changed(func(r *idem.Response) { r.ProviderRef = "ch_2" }), false},
		"no name of the effect":        {changed(func(r *idem.Response) { r.ProviderRef = "" }), false},
		"a refusal with the same text": {changed(func(r *idem.Response) { r.Failed = true }), false},
		"nothing":                      {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := b.on(t)
			lease := b.claim(b.store, b.key("k"))
			if err := b.completesTx(b.ctx, lease, standing()); err != nil {
				t.Fatal(err)
			}
			err := lease.Complete(b.ctx, test.second)
			switch {
			case test.same && err != nil:
				t.Errorf("got %v, want nil", err)
			case !test.same:
				wantIs(t, err, idem.ErrLeaseLost)
				keyError(t, err)
			}
			b.wantStanding(b.key("k"), standing())
		})
	}
}

// An empty body, a dropped one and none at all are what is easily taken for each other.
func TestCompleteTellsAnEmptyBodyFromADroppedOne(t *testing.T) {
	b := setup(t)
	empty, none, dropped := &idem.Response{Body: []byte{}}, &idem.Response{}, &idem.Response{BodyDropped: true}
	for name, test := range map[string]struct {
		first, second *idem.Response
		same          bool
	}{
		"empty, then none":      {empty, none, true},
		"empty, then nothing":   {empty, nil, true},
		"empty, then dropped":   {empty, dropped, false},
		"dropped, then empty":   {dropped, empty, false},
		"dropped, then dropped": {dropped, &idem.Response{Body: []byte("49"), BodyDropped: true}, true},
	} {
		t.Run(name, func(t *testing.T) {
			b := b.on(t)
			lease := b.claim(b.store, b.key("k"))
			if err := b.completesTx(b.ctx, lease, test.first); err != nil {
				t.Fatal(err)
			}
			if err := lease.Complete(b.ctx, test.second); (err == nil) != test.same {
				t.Errorf("got %v; the same is %v", err, test.same)
			}
		})
	}
}

func TestCompleteAfterAConfirmedOneIsRefused(t *testing.T) {
	b := setup(t)
	lease := b.claim(b.store, b.key("k"))
	if err := lease.Complete(b.ctx, standing()); err != nil {
		t.Fatal(err)
	}
	wantIs(t, lease.Complete(b.ctx, &idem.Response{Status: 500}), idem.ErrLeaseLost)
	wantIs(t, lease.Release(b.ctx), idem.ErrLeaseLost)
	b.wantStanding(b.key("k"), standing())
}

// P7 where the lease itself knows that it has ended: rows beside a CompleteTx that is refused do not commit, even if the caller
// ignores the refusal.
func TestP7RowsBesideARefusedCompleteTxDoNotCommit(t *testing.T) {
	b := setup(t)
	for name, end := range map[string]func(*bundle, *idem.Lease) error{
		"after Complete":   func(b *bundle, l *idem.Lease) error { return l.Complete(b.ctx, standing()) },
		"after CompleteTx": func(b *bundle, l *idem.Lease) error { return b.completesTx(b.ctx, l, standing()) },
		"after Release":    func(b *bundle, l *idem.Lease) error { return l.Release(b.ctx) },
		"after Abandon":    func(b *bundle, l *idem.Lease) error { return l.Abandon(b.ctx) },
	} {
		t.Run(name, func(t *testing.T) {
			b := b.on(t)
			lease := b.claim(b.store, b.key("k"))
			if err := end(b, lease); err != nil {
				t.Fatal(err)
			}
			before := b.row(b.key("k"))
			tx := b.begin()
			refused := errors.Join(insertCharge(b.ctx, tx, name), lease.CompleteTx(b.ctx, tx, &idem.Response{Status: 500}))
			wantIs(t, refused, idem.ErrLeaseLost)
			if err := tx.Commit(b.ctx); !errors.Is(err, pgx.ErrTxCommitRollback) {
				t.Errorf("Commit: got %v, want ErrTxCommitRollback", err)
			}
			if n := b.charges(name); n != 0 {
				t.Errorf("%d charges beside a refused completion, want 0", n)
			}
			if after := b.row(b.key("k")); after != before {
				t.Errorf("the row changed:\n%s\n%s", before, after)
			}
		})
	}
}

// Who was told ErrCommitUnknown asks again: with the same answer to have it confirmed, with another to learn that it is too late.
func TestCompleteAfterAnUnconfirmedOneAsksWhatStands(t *testing.T) {
	b := setup(t)
	var lose atomic.Bool
	store := b.throughProxy(&pgproxy.Proxy{OnCommit: func() pgproxy.Fault {
		if lose.Load() {
			return pgproxy.DropAnswer
		}
		return pgproxy.Pass
	}}, idem.Policy{Retention: time.Hour})
	unconfirmed := func(ctx context.Context, t *testing.T, l *idem.Lease) {
		lose.Store(true)
		defer lose.Store(false)
		wantIs(t, l.Complete(ctx, standing()), idem.ErrCommitUnknown)
	}
	other := &idem.Response{Status: 500, Body: []byte("another")}

	t.Run("the same answer", func(t *testing.T) {
		b := b.on(t)
		lease := b.claim(store, b.key("k"))
		unconfirmed(b.ctx, t, lease)
		if err := lease.Complete(b.ctx, standing()); err != nil {
			t.Errorf("got %v, want nil", err)
		}
		b.wantStanding(b.key("k"), standing())
	})
	t.Run("another answer", func(t *testing.T) {
		b := b.on(t)
		lease := b.claim(store, b.key("k"))
		unconfirmed(b.ctx, t, lease)
		wantIs(t, lease.Complete(b.ctx, other), idem.ErrLeaseLost)
		b.wantStanding(b.key("k"), standing())
	})
	t.Run("another answer, in Hold", func(t *testing.T) {
		b := b.on(t)
		resp, err := store.Hold(b.ctx, b.key("k"), func(ctx context.Context, l *idem.Lease) (*idem.Response, error) {
			unconfirmed(ctx, t, l)
			wantIs(t, l.Complete(ctx, other), idem.ErrLeaseLost)
			return other, nil
		})
		if err != nil || resp.Replayed || string(resp.Body) != string(standing().Body) {
			t.Errorf("got %+v, %v; want the answer that stands", resp, err)
		}
	})
}

// A transaction that rolled back recorded nothing, so any answer may follow; and where one of a rival stands, an equal one of
// this lease is none.
func TestCompleteAfterACompleteTxThatDidNotCommit(t *testing.T) {
	b := setup(t)
	other := &idem.Response{Status: 200, Body: []byte("another")}
	t.Run("records", func(t *testing.T) {
		b := b.on(t)
		lease := b.claim(b.store, b.key("k"))
		if err := completeAndRollBack(b.ctx, b, lease, standing()); err != nil {
			t.Fatal(err)
		}
		if err := lease.Complete(b.ctx, other); err != nil {
			t.Error(err)
		}
		b.wantStanding(b.key("k"), other)
	})
	t.Run("is lost where a rival recorded the very same", func(t *testing.T) {
		b := b.on(t)
		late := b.claim(b.newStore(rerun), b.key("k"))
		b.age(b.key("k"), 2*rerun.Lease)
		if err := b.claim(b.newStore(rerun), b.key("k")).Complete(b.ctx, standing()); err != nil {
			t.Fatal(err)
		}
		wantIs(t, late.Complete(b.ctx, standing()), idem.ErrLeaseLost)
	})
}

// The transaction of CompleteTx is still open when the work returns another answer, and commits while Hold records that one.
func TestHoldAnswersWithWhatCompleteTxCommittedMeanwhile(t *testing.T) {
	b := setup(t)
	tx := b.begin()
	holder := b.session("holder")
	b.inOrder(
		holder.holds(b.key("k"), func(ctx context.Context, l *idem.Lease) (*idem.Response, error) {
			return &idem.Response{Status: 500, Body: []byte("another")}, l.CompleteTx(ctx, tx, standing())
		}),
		holder.works(), holder.goesOn(), b.blocked(1),
		do("the transaction commits", func() {
			if err := tx.Commit(b.ctx); err != nil {
				t.Fatal(err)
			}
		}),
		holder.gets("the answer that stands", standing()),
	)
	b.wantStanding(b.key("k"), standing())
}

// What the work makes of Complete's refusal changes nothing: the recorded answer is Hold's.
func TestHoldAnswersWithWhatStandsAfterARefusedComplete(t *testing.T) {
	b := setup(t)
	other := &idem.Response{Status: 500, Body: []byte("another")}
	resp, err := b.store.Hold(b.ctx, b.key("k"), func(ctx context.Context, l *idem.Lease) (*idem.Response, error) {
		if err := b.completesTx(ctx, l, standing()); err != nil {
			return nil, err
		}
		if err := l.Complete(ctx, other); !errors.Is(err, idem.ErrLeaseLost) {
			t.Errorf("got %v, want ErrLeaseLost", err)
		}
		return other, nil
	})
	if err != nil || resp.Replayed || string(resp.Body) != string(standing().Body) {
		t.Errorf("got %+v, %v; want the answer that stands", resp, err)
	}
}

// A lease that was to be completed in a transaction which rolled back goes on, and ends when it is abandoned.
func TestAbandonAfterACompleteTxThatRolledBackEndsTheLease(t *testing.T) {
	b := setup(t)
	for name, commit := range map[string]bool{"committed": true, "rolled back": false} {
		t.Run(name, func(t *testing.T) {
			b := b.on(t)
			lease := b.held(b.store, "k")
			tx := b.begin()
			if err := lease.CompleteTx(b.ctx, tx, created()); err != nil {
				t.Fatal(err)
			}
			want := idem.StateAbandoned
			if commit {
				want = idem.StateCommitted
				if err := tx.Commit(b.ctx); err != nil {
					t.Fatal(err)
				}
			} else {
				b.rollback(tx)
			}
			if err := lease.Abandon(b.ctx); err != nil {
				t.Fatal(err)
			}
			record, err := b.store.Lookup(b.ctx, b.key("k"))
			if err != nil || record.State != want {
				t.Errorf("%+v, %v; want %s", record, err, want)
			}
		})
	}
}
