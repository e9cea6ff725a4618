package design

import (
	"context"
	_ "embed"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// CheckThenAct looks the key up, charges if it is missing, and then notes the key: three statements that commit one by one
// (article 003, design 2). Every copy that looks while the first one charges finds nothing, and charges.
type CheckThenAct struct {
	Pool  *pgxpool.Pool
	Delay time.Duration // of a charge
}

func (CheckThenAct) Name() string { return "check-then-act" }
func (CheckThenAct) Once() bool   { return false }

var (
	//go:embed check_then_act_look.sql
	lookSQL string
	//go:embed check_then_act_note.sql
	noteSQL string
)

func (d CheckThenAct) Pay(ctx context.Context, p Payment) (Outcome, error) {
	var id int64
	switch err := d.Pool.QueryRow(ctx, lookSQL, p.Key).Scan(&id); {
	case err == nil:
		return Outcome{Replayed, id}, nil
	case !errors.Is(err, pgx.ErrNoRows):
		return Outcome{}, err
	}
	id, err := charge(ctx, d.Pool, p, d.Delay)
	if err != nil {
		return Outcome{}, err
	}
	_, err = d.Pool.Exec(ctx, noteSQL, p.Key, id)
	return Outcome{Charged, id}, err
}
