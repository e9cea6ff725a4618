package idemhttp_test

import (
	"context"
	"fmt"
	"sync"

	"github.com/jackc/pgx/v5"
)

// cutter is a tracer of a pool. It counts the moments at which statements start and end, and does something at one of them.
type cutter struct {
	mu      sync.Mutex
	moments []string // since arm
	at      int      // 0: at none
	do      func()
}

// arm starts to count anew; do is run at the n-th moment, and what is being traced waits for it.
func (c *cutter) arm(n int, do func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.moments, c.at, c.do = nil, n, do
}

// disarm stops, and tells what the moments were.
func (c *cutter) disarm() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = 0
	return c.moments
}

func (c *cutter) moment(format string, args ...any) {
	c.mu.Lock()
	c.moments = append(c.moments, fmt.Sprintf(format, args...))
	now := c.at > 0 && len(c.moments) == c.at
	do := c.do
	c.mu.Unlock()
	if now {
		do()
	}
}

func (c *cutter) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	c.moment("before %.30q", data.SQL)
	return ctx
}

func (c *cutter) TraceQueryEnd(_ context.Context, _ *pgx.Conn, data pgx.TraceQueryEndData) {
	c.moment("after a query: %s", data.CommandTag)
}

func (c *cutter) TraceBatchStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceBatchStartData) context.Context {
	c.moment("before a batch of %d", data.Batch.Len())
	return ctx
}

func (c *cutter) TraceBatchQuery(_ context.Context, _ *pgx.Conn, data pgx.TraceBatchQueryData) {
	c.moment("in a batch after %.30q", data.SQL)
}

func (c *cutter) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {
	c.moment("after a batch")
}
