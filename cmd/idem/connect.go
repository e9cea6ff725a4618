package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// A source says where the connection string comes from. It is the flag --database-url.
type source struct{ flag string }

func (s *source) String() string { return "" } // a password must not become a default in a help text
func (s *source) Type() string   { return "url" }

// Set refuses an empty string: an unset shell variable must not lead to another database.
func (s *source) Set(value string) error {
	if value == "" {
		return errors.New("it is empty")
	}
	s.flag = value
	return nil
}

// connString returns the string and its origin. An empty string means the PG* variables.
func (s *source) connString() (value, origin string) {
	if s.flag != "" {
		return s.flag, "--database-url"
	}
	if value := os.Getenv("DATABASE_URL"); value != "" {
		return value, "DATABASE_URL"
	}
	return "", "the PG* variables"
}

// config reads the connection string. No error contains any of it: malformed strings show their passwords in odd places.
func (s *source) config() (*pgxpool.Config, error) {
	value, origin := s.connString()
	config, err := pgxpool.ParseConfig(value)
	if err != nil {
		return nil, fmt.Errorf("%s: %s", origin, unreadable(err))
	}
	config.MaxConns, config.MinConns, config.MinIdleConns = 2, 0, 0
	if params := config.ConnConfig.RuntimeParams; params["application_name"] == "" {
		params["application_name"] = "idem"
	}
	return config, nil
}

// pool connects with what the connection string says to the letter.
func (s *source) pool(ctx context.Context, mutate ...func(*pgxpool.Config)) (*pgxpool.Pool, error) {
	config, err := s.config()
	if err != nil {
		return nil, err
	}
	for _, f := range mutate {
		f(config)
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	if err := pool.Ping(ctx); err != nil {
		pool.Close()
		return nil, s.connectError(err)
	}
	return pool, nil
}

// throughPoolers sends no prepared statement, so that sweep and show work behind a pooler.
func throughPoolers(config *pgxpool.Config) {
	if mode := &config.ConnConfig.DefaultQueryExecMode; *mode != pgx.QueryExecModeSimpleProtocol {
		*mode = pgx.QueryExecModeExec
	}
}

func (s *source) connectError(err error) error {
	_, origin := s.connString()
	return fmt.Errorf("no connection by %s: %w", origin, err)
}

// unreadable is what is wrong with a connection string, in words that hold nothing of it.
func unreadable(err error) string {
	var parse *pgconn.ParseConfigError
	if !errors.As(err, &parse) {
		return err.Error()
	}
	text := err.Error() // "cannot parse `the string`: what is wrong"
	if at := strings.LastIndex(text, "`: "); at >= 0 && !strings.Contains(text, "failed to parse as") {
		return "the connection string cannot be used: " + text[at+len("`: "):]
	}
	return "the connection string cannot be read: it is postgres://user:password@host:port/database, with special characters " +
		"of the password percent-encoded, or key=value pairs"
}

// withoutSchema adds the cure where a command needs the schema and there is none.
func withoutSchema(err error) error {
	var pg *pgconn.PgError
	if errors.As(err, &pg) && (pg.Code == "42P01" || pg.Code == "3F000") { // undefined table, invalid schema name
		return fmt.Errorf("schema idem is not in this database: run idem migrate up (%s)", pg.Message)
	}
	return err
}
