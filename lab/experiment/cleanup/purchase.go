package cleanup

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// purchase is the article's handler: claim, work and completion in one transaction. Where the claim is lost and its row is gone
// when it is read, the claim is tried again, three times in all.
type purchase struct {
	pool      *pgxpool.Pool
	work      work
	unguarded bool                                // it takes the row for granted
	between   func(context.Context, moment) error // told before each look at the key; nil: nobody is
	story     *story
}

// moment is the statement that comes next.
type moment int

const (
	beforeInsert moment = iota
	beforeSelect
)

// tries is how often the article's handler claims.
const tries = 3

func (p *purchase) buy(ctx context.Context, r request) answer {
	var a answer
	err := pgx.BeginTxFunc(ctx, p.pool, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, func(tx pgx.Tx) (err error) {
		a, err = p.in(ctx, tx, r)
		return err
	})
	if err != nil {
		a = failed(err)
	}
	p.story.say("the client is told", a.String())
	return a
}

func (p *purchase) in(ctx context.Context, tx pgx.Tx, r request) (answer, error) {
	for range tries {
		if err := p.reach(ctx, beforeInsert); err != nil {
			return answer{}, err
		}
		mine, err := gets(ctx, tx, claimSQL, r.key)
		p.story.say(insertStep, rowOr(mine, err))
		switch {
		case err != nil:
			return answer{}, err
		case mine:
			return charged, p.finish(ctx, tx, r)
		}
		if err := p.reach(ctx, beforeSelect); err != nil {
			return answer{}, err
		}
		a, err := look(ctx, tx, r.key, p.story)
		if errors.Is(err, pgx.ErrNoRows) && !p.unguarded {
			continue
		}
		return a, err
	}
	return contended, nil
}

func (p *purchase) finish(ctx context.Context, tx pgx.Tx, r request) error {
	if err := p.work(ctx, tx, r); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, finishSQL, r.key)
	return err
}

func (p *purchase) reach(ctx context.Context, m moment) error {
	if p.between == nil {
		return nil
	}
	return p.between(ctx, m)
}
