// Package database gives an experiment a PostgreSQL server of its own, gone with the process.
package database

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/internal/devpg"
	"github.com/pgidem/pgidem/lab/design"
	"github.com/pgidem/pgidem/sql/schema"
)

// Database is a private server's database lab, with the product's schema and the lab's.
type Database struct {
	Pool    *pgxpool.Pool
	Version string // of the server, such as 18.1

	server *devpg.Server
}

// MaxConns is how large a pool may be: the server's 400 connections, less some for its administrators and for those that the
// product opens beside its pool.
const MaxConns = 350

//go:embed create_database.sql
var createSQL string

//go:embed version.sql
var versionSQL string

// Start starts the server with a pool of conns connections and these settings; nil: its defaults. Without PostgreSQL on this machine
// it is installed or downloaded first, which is told on standard error.
func Start(ctx context.Context, conns int, settings map[string]string) (_ *Database, err error) {
	server, err := devpg.Start(ctx, devpg.Options{Settings: settings})
	if err != nil {
		return nil, err
	}
	d := &Database{server: server}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.Close())
		}
	}()
	if err := d.create(ctx); err != nil {
		return nil, fmt.Errorf("create database lab: %w", err)
	}
	if err := d.open(ctx, conns); err != nil {
		return nil, fmt.Errorf("open database lab: %w", err)
	}
	if err := d.migrate(ctx); err != nil {
		return nil, fmt.Errorf("migrate database lab: %w", err)
	}
	return d, nil
}

// Close stops the server and removes everything that it left.
func (d *Database) Close() error {
	if d.Pool != nil {
		d.Pool.Close()
	}
	return d.server.Stop()
}

func (d *Database) create(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, d.server.URL())
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, createSQL)
	return err
}

func (d *Database) open(ctx context.Context, conns int) error {
	address, err := url.Parse(d.server.URL())
	if err != nil {
		return err
	}
	address.Path = "/lab"
	config, err := pgxpool.ParseConfig(address.String())
	if err != nil {
		return err
	}
	config.MaxConns = int32(conns)
	if d.Pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return err
	}
	return d.Pool.QueryRow(ctx, versionSQL).Scan(&d.Version)
}

// migrate applies the product's migrations in the order of their six digits, then the lab's schema.
func (d *Database) migrate(ctx context.Context) error {
	names, err := fs.Glob(schema.FS, "*.up.sql")
	if err != nil {
		return err
	}
	for _, name := range names {
		text, err := fs.ReadFile(schema.FS, name)
		if err != nil {
			return err
		}
		if _, err := d.Pool.Exec(ctx, string(text)); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return design.Install(ctx, d.Pool)
}
