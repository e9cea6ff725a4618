package cleanup

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

var (
	//go:embed gates_start.sql
	gatesStartSQL string
	//go:embed gates_passed.sql
	gatesPassedSQL string
	//go:embed gate_shut.sql
	gateShutSQL string
	//go:embed gate_open.sql
	gateOpenSQL string
	//go:embed gate_reached.sql
	gateReachedSQL string
)

// gates stand between the statements of one claim after another.
type gates struct {
	conn *pgx.Conn // holds them shut
}

// shut shuts so many gates. They stand open again when close ends their connection.
func (b *bench) shut(ctx context.Context, many int) (*gates, error) {
	if _, err := b.pool.Exec(ctx, gatesStartSQL); err != nil {
		return nil, err
	}
	conn, err := pgx.ConnectConfig(ctx, b.pool.Config().ConnConfig)
	if err != nil {
		return nil, err
	}
	g := &gates{conn}
	for gate := 1; gate <= many; gate++ {
		if _, err := conn.Exec(ctx, gateShutSQL, gate); err != nil {
			g.close()
			return nil, fmt.Errorf("shut gate %d: %w", gate, err)
		}
	}
	return g, nil
}

func (g *gates) close() { _ = g.conn.Close(context.Background()) }

func (g *gates) open(ctx context.Context, gate int) error {
	_, err := g.conn.Exec(ctx, gateOpenSQL, gate)
	return err
}

// reached returns when somebody stands before a gate.
func (g *gates) reached(ctx context.Context, gate int, ended <-chan answer) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errors.New("nobody comes"))
	defer cancel()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		var stands bool
		if err := g.conn.QueryRow(ctx, gateReachedSQL, gate).Scan(&stands); err != nil {
			return fmt.Errorf("look at gate %d: %w", gate, err)
		}
		if stands {
			return nil
		}
		select {
		case a := <-ended:
			return fmt.Errorf("the request was answered before gate %d: %s", gate, a)
		case <-ctx.Done():
			return fmt.Errorf("gate %d: %w", gate, context.Cause(ctx))
		case <-tick.C:
		}
	}
}

// passed is how many gates have been passed.
func (g *gates) passed(ctx context.Context) (n int, err error) {
	err = g.conn.QueryRow(ctx, gatesPassedSQL).Scan(&n)
	return n, err
}
