// Package mismatch is article 000's experiment about one key under two requests, and about the answers that are stored.
package mismatch

import (
	"context"
	"errors"
	"fmt"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/lab/workbench"
)

// Mismatch sends a request, and then another one under its key, through handlers that do and do not know which request a key
// was for. Then it lets Callers ask for the same charge one after the other, and compares what they get.
type Mismatch struct {
	Callers int
}

// New is the article's experiment.
func New() *Mismatch { return &Mismatch{Callers: 8} }

// Check reports the first size that makes no experiment.
func (m *Mismatch) Check() error {
	if m.Callers < 2 {
		return fmt.Errorf("--callers is %d; it must be at least 2, the first and one that gets a replay", m.Callers)
	}
	return nil
}

const conns = 4 // one request at a time

// Run runs every scene, on a server of its own.
func (m *Mismatch) Run(ctx context.Context, bench *workbench.Bench) (_ workbench.Result, err error) {
	db, err := bench.Database(ctx, conns, nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	books := ledger{db.Pool}
	if err := books.install(ctx); err != nil {
		return nil, fmt.Errorf("make the ledger: %w", err)
	}
	store := &idem.Store{Pool: db.Pool}
	defer store.Close()
	result := &Result{Callers: m.Callers}
	if result.Exchanges, err = exchanges(ctx, bench, books, store); err != nil {
		return nil, err
	}
	if result.Receipts, err = m.receipts(ctx, bench, books, store); err != nil {
		return nil, err
	}
	return result, nil
}

func exchanges(ctx context.Context, bench *workbench.Bench, books ledger, store *idem.Store) ([]Exchange, error) {
	designs := designs(books.pool, store)
	step, ended := bench.Progress("mismatch: one key, two requests", len(scenes)*len(designs))
	defer ended()
	var all []Exchange
	for _, s := range scenes {
		for _, d := range designs {
			e, err := s.play(ctx, books, d)
			if err != nil {
				return nil, fmt.Errorf("%s: %s: %w", s.name, d.name, err)
			}
			all = append(all, e)
			step()
		}
	}
	return all, nil
}

func (m *Mismatch) receipts(ctx context.Context, bench *workbench.Bench, books ledger, store *idem.Store) ([]Receipt, error) {
	writers := writers(books.pool, store)
	step, ended := bench.Progress("mismatch: one key, one charge", len(ids)*len(writers)*m.Callers)
	defer ended()
	var all []Receipt
	for _, id := range ids {
		for _, w := range writers {
			r, err := m.receipt(ctx, books, w, id, step)
			if err != nil {
				return nil, fmt.Errorf("%s, charge %d: %w", w.name, id, err)
			}
			all = append(all, r)
		}
	}
	return all, nil
}
