package bench

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

var (
	//go:embed flush.sql
	flushSQL string
	//go:embed stats.sql
	statsSQL string
)

// counting are the settings of a server that is only counted on: nothing writes to it behind our back, and no full-page image,
// of which there are the more the more checkpoints, is in its WAL.
var counting = map[string]string{
	"autovacuum": "off", "full_page_writes": "off", "checkpoint_timeout": "1d", "max_wal_size": "32GB",
}

// stats are what PostgreSQL counts, since its start.
type stats struct {
	Commits, WALBytes, TransactionIDs, Updates, HOTUpdates, DeadTuples int64
}

func (s stats) since(before stats) stats {
	return stats{
		s.Commits - before.Commits, s.WALBytes - before.WALBytes, s.TransactionIDs - before.TransactionIDs,
		s.Updates - before.Updates, s.HOTUpdates - before.HOTUpdates, s.DeadTuples - before.DeadTuples,
	}
}

// counter reads them. A connection keeps its own counts for a while; so all connections that were opened are known to it, those
// included that the product opens beside its pool.
type counter struct {
	admin *pgx.Conn
	mu    sync.Mutex
	all   []*pgx.Conn // of the pool, or opened as the pool opens them

	own int64 // commits of the counting itself, which the next look will see
}

func (c *counter) connected(conn *pgx.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, conn)
}

// look reads the counts when nobody is at work. others are pools that it does not know yet.
func (c *counter) look(ctx context.Context, pool *pgxpool.Pool, others ...*pgxpool.Pool) (s stats, err error) {
	flush := func(conn *pgx.Conn) error {
		c.own++
		_, err := conn.Exec(ctx, flushSQL, pgx.QueryExecModeSimpleProtocol)
		return err
	}
	var flushed []*pgx.Conn
	for _, p := range append(others, pool) {
		for _, conn := range p.AcquireAllIdle(ctx) {
			defer conn.Release()
			flushed = append(flushed, conn.Conn())
			if err := flush(conn.Conn()); err != nil {
				return s, fmt.Errorf("flush the counts of a connection: %w", err)
			}
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range append(c.all, c.admin) {
		if conn.IsClosed() || slices.Contains(flushed, conn) {
			continue
		}
		if err := flush(conn); err != nil {
			return s, fmt.Errorf("flush the counts of a connection: %w", err)
		}
	}
	row := c.admin.QueryRow(ctx, statsSQL, pgx.QueryExecModeSimpleProtocol)
	if err := row.Scan(&s.Commits, &s.WALBytes, &s.TransactionIDs, &s.Updates, &s.HOTUpdates, &s.DeadTuples); err != nil {
		return s, fmt.Errorf("read the server's counts: %w", err)
	}
	s.Commits -= c.own
	c.own++ // the reading itself, seen by the next look
	return s, nil
}
