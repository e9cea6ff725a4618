package dirtypool

import (
	"context"
	_ "embed"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/idem"
)

var (
	//go:embed lock.sql
	lockSQL string
	//go:embed lock_nowait.sql
	lockNoWaitSQL string
)

// locks reports whether the scene can be played with a lock: B needs a connection while A has its own.
func (s scene) locks() bool { return s.Handler == OnPool || s.Connections > narrow }

// lock plays the scene with SELECT ... FOR UPDATE as A's statement, and tries to take the row away before A has ended.
func (s scene) lock(ctx context.Context, observer *pgxpool.Pool) (l Lock, err error) {
	l.Scene = s.Scene
	p, err := s.open(ctx, observer)
	if err != nil {
		return l, err
	}
	defer p.pool.close()
	try := func() (err error) {
		if l.Beside, err = gets(ctx, p.pool); err != nil {
			return err
		}
		l.Outside, err = gets(ctx, pgxPools{observer})
		return err
	}
	switch s.Handler {
	case OnPool:
		err = p.lockOnPool(ctx, s.Overlap, try)
	case CheckedOut:
		err = p.lockCheckedOut(ctx, try)
	case Product:
		err = p.lockInProduct(ctx, try)
	}
	return l, err
}

func (p *play) lockOnPool(ctx context.Context, overlap bool, try func() error) error {
	returned := func() error { return nil }
	if overlap {
		c, err := p.pool.take(ctx)
		if err != nil {
			return err
		}
		returned = c.giveBack
	}
	return errors.Join(
		p.pool.exec(ctx, begin),
		returned(),
		p.pool.exec(ctx, lockSQL),
		try(),
		p.pool.exec(ctx, rollback),
	)
}

func (p *play) lockCheckedOut(ctx context.Context, try func() error) error {
	a, err := p.pool.take(ctx)
	if err != nil {
		return err
	}
	return errors.Join(
		a.exec(ctx, begin),
		a.exec(ctx, lockSQL),
		try(),
		a.exec(ctx, rollback),
		a.giveBack(),
	)
}

func (p *play) lockInProduct(ctx context.Context, try func() error) error {
	store := &idem.Store{Pool: p.pool.(pgxPools).Pool}
	defer store.Close()
	_, err := store.Do(ctx, newKey(), func(ctx context.Context, tx pgx.Tx) (*idem.Response, error) {
		return nil, errors.Join(errDeclined, inTx{tx}.exec(ctx, lockSQL), try())
	})
	if !errors.Is(err, errDeclined) {
		return fmt.Errorf("the work fails, and Store.Do says: %w", err)
	}
	return nil
}

// lockNotAvailable is the SQLSTATE of NOWAIT.
const lockNotAvailable = "55P03"

// gets reports whether the row can be locked at this moment.
func gets(ctx context.Context, e executor) (bool, error) {
	err := e.exec(ctx, lockNoWaitSQL)
	var coded interface{ SQLState() string }
	if errors.As(err, &coded) && coded.SQLState() == lockNotAvailable {
		return false, nil
	}
	return err == nil, err
}
