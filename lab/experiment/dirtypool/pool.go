package dirtypool

import (
	"context"
	"net/url"

	"github.com/jackc/pgx/v5/pgxpool"
)

// pool is a pool of connections as a handler sees it.
type pool interface {
	executor                                   // a statement runs on whichever connection is free
	take(ctx context.Context) (session, error) // checks a connection out
	size() int                                 // connections that are open
	close()
}

// session is a connection that its holder alone uses until it gives it back.
type session interface {
	executor
	giveBack() error
}

type executor interface {
	exec(ctx context.Context, sql string, args ...any) error
}

// poolKind is a way to have a pool in Go.
type poolKind struct {
	name string
	open func(ctx context.Context, config *pgxpool.Config, w *wire) (pool, error)
}

// The pools, by the names that people know them by.
var (
	pgxPool = poolKind{"pgxpool", openPgx}
	pgxSQL  = poolKind{"database/sql + pgx", openPgxSQL}
	pqSQL   = poolKind{"database/sql + lib/pq", openPqSQL}
)

// application is how the server knows the connections of a pool.
const application = "dirty-pool"

// configOf is how a pool of so many connections is opened on the database of an observer.
func configOf(observer *pgxpool.Pool, connections int) *pgxpool.Config {
	config := observer.Config()
	config.MaxConns = int32(connections)
	config.ConnConfig.RuntimeParams["application_name"] = application
	return config
}

// named is the connection string of config with the name of the application in it.
func named(config *pgxpool.Config) (string, error) {
	address, err := url.Parse(config.ConnString())
	if err != nil {
		return "", err
	}
	query := address.Query()
	query.Set("application_name", application)
	address.RawQuery = query.Encode()
	return address.String(), nil
}
