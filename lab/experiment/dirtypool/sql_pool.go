package dirtypool

import (
	"context"
	"database/sql"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/lib/pq"
)

// sqlPool is the standard library's pool. What it does with a connection that comes back in a transaction is up to the driver.
type sqlPool struct{ *sql.DB }

func openPgxSQL(_ context.Context, config *pgxpool.Config, w *wire) (pool, error) {
	watch(config, w)
	return openSQL(stdlib.OpenDB(*config.ConnConfig), config)
}

func openPqSQL(_ context.Context, config *pgxpool.Config, w *wire) (pool, error) {
	address, err := named(config)
	if err != nil {
		return nil, err
	}
	connector, err := pq.NewConnector(address)
	if err != nil {
		return nil, err
	}
	connector.Dialer(w)
	heard := pq.ConnectorWithNoticeHandler(connector, func(n *pq.Error) { w.warn(string(n.Code), n.Message) })
	return openSQL(sql.OpenDB(heard), config)
}

// openSQL keeps every connection open that config allows for, as pgx's pool does.
func openSQL(db *sql.DB, config *pgxpool.Config) (pool, error) {
	db.SetMaxOpenConns(int(config.MaxConns))
	db.SetMaxIdleConns(int(config.MaxConns))
	return sqlPool{db}, nil
}

func (p sqlPool) exec(ctx context.Context, sql string, args ...any) error {
	_, err := p.ExecContext(ctx, sql, args...)
	return err
}

func (p sqlPool) take(ctx context.Context) (session, error) {
	c, err := p.Conn(ctx)
	return sqlSession{c}, err
}

func (p sqlPool) size() int { return p.Stats().OpenConnections }
func (p sqlPool) close()    { _ = p.Close() } // what it held is rolled back by the server

type sqlSession struct{ *sql.Conn }

func (s sqlSession) exec(ctx context.Context, sql string, args ...any) error {
	_, err := s.ExecContext(ctx, sql, args...)
	return err
}

func (s sqlSession) giveBack() error { return s.Close() }
