package dirtypool

import (
	"context"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// pgxPools is pgx's own pool.
type pgxPools struct{ *pgxpool.Pool }

func openPgx(ctx context.Context, config *pgxpool.Config, w *wire) (pool, error) {
	watch(config, w)
	p, err := pgxpool.NewWithConfig(ctx, config)
	return pgxPools{p}, err
}

// watch makes the connections of config known to w.
func watch(config *pgxpool.Config, w *wire) {
	config.ConnConfig.DialFunc = w.DialContext
	config.ConnConfig.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { w.warn(n.Code, n.Message) }
}

func (p pgxPools) exec(ctx context.Context, sql string, args ...any) error {
	_, err := p.Exec(ctx, sql, args...)
	return err
}

func (p pgxPools) take(ctx context.Context) (session, error) {
	c, err := p.Acquire(ctx)
	return pgxSession{c}, err
}

func (p pgxPools) size() int { return int(p.Stat().TotalConns()) }
func (p pgxPools) close()    { p.Close() }

type pgxSession struct{ *pgxpool.Conn }

func (s pgxSession) exec(ctx context.Context, sql string, args ...any) error {
	_, err := s.Exec(ctx, sql, args...)
	return err
}

func (s pgxSession) giveBack() error {
	s.Release()
	return nil
}
