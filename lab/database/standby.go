package database

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/pgidem/pgidem/internal/devpg"
)

// Address is the server's, 127.0.0.1:PORT.
func (d *Database) Address() string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(d.server.Port()))
}

// Standby makes a copy of the server that follows it, and returns it with a pool of conns connections, which read until it is
// promoted. Close ends it. Where the machine has no pg_basebackup for the server, the error is devpg.ErrNoBasebackup.
func (d *Database) Standby(ctx context.Context, conns int, o devpg.StandbyOptions) (*Database, error) {
	server, err := d.server.Standby(ctx, o)
	if err != nil {
		return nil, err
	}
	standby := &Database{server: server}
	if err := standby.open(ctx, conns); err != nil {
		return nil, fmt.Errorf("open database lab on the standby: %w", errors.Join(err, standby.Close()))
	}
	return standby, nil
}

//go:embed confirmed.sql
var confirmedSQL string

//go:embed replayed.sql
var replayedSQL string

// CaughtUp returns when a standby shows everything that its primary has confirmed so far.
func (d *Database) CaughtUp(ctx context.Context, primary *Database) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	var confirmed string
	if err := primary.Pool.QueryRow(ctx, confirmedSQL).Scan(&confirmed); err != nil {
		return fmt.Errorf("ask the primary how far it is: %w", err)
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		replayed := false
		switch err := d.Pool.QueryRow(ctx, replayedSQL, confirmed).Scan(&replayed); {
		case err != nil:
			return fmt.Errorf("ask the standby how far it is: %w", err)
		case replayed:
			return nil
		}
		<-tick.C
	}
}

// Kill ends the server as a crash does. Only Close may follow.
func (d *Database) Kill() { d.server.Kill() }

// Promote makes a standby a primary, with what it has received so far.
func (d *Database) Promote(ctx context.Context) error { return d.server.Promote(ctx) }
