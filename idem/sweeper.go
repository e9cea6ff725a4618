package idem

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/gen"
)

// Sweeper deletes finished keys past their retention. It never blocks a claim, never waits for one, never deletes an unfinished
// key, and any number may run at once. Only Pool is required.
type Sweeper struct {
	Pool  *pgxpool.Pool
	Every time.Duration // between two passes of Run. 0: an hour
	Pause time.Duration // between two batches. 0: none
	Batch int           // keys a batch at most. 0: 2,000, some 50 ms of work each
	// PerTenant sweeps tenant by tenant: for a table that is sharded or partitioned by tenant, where locks need a tenant.
	PerTenant bool
	DryRun    bool                   // count, delete nothing
	Logger    *slog.Logger           // told of each pass by Run. nil: nobody
	Progress  func(stats SweepStats) // told after each batch. nil: nobody
}

// SweepStats is what one pass found.
type SweepStats struct {
	Deleted    int64         `json:"deleted"`    // keys deleted; 0 in a dry run
	Due        int64         `json:"due"`        // keys found past their retention
	Skipped    int64         `json:"skipped"`    // of those, locked by a claim or another sweeper: the next pass looks again. PerTenant never sees them: 0
	Unresolved int64         `json:"unresolved"` // abandoned keys: no sweep deletes them, somebody has to settle them
	Batches    int64         `json:"batches"`
	Took       time.Duration `json:"took_ns"`
}

// maxClockSkew: a sweep under a clock that is wrong deletes keys that are still needed.
const maxClockSkew = 5 * time.Minute

// Run sweeps now and then Every, until ctx ends, and returns nil then. A pass that fails is logged and tried again next time.
func (s *Sweeper) Run(ctx context.Context) error {
	every := s.Every
	defaultTo(&every, time.Hour)
	for {
		stats, err := s.Sweep(ctx)
		s.log(ctx, stats, err)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(every):
		}
	}
}

func (s *Sweeper) log(ctx context.Context, stats SweepStats, err error) {
	switch {
	case s.Logger == nil, ctx.Err() != nil:
	case err != nil:
		s.Logger.ErrorContext(ctx, "idem: sweep failed", "error", err, "deleted", stats.Deleted)
	default:
		s.Logger.InfoContext(ctx, "idem: swept", "deleted", stats.Deleted, "skipped", stats.Skipped,
			"unresolved", stats.Unresolved, "took", stats.Took)
	}
}

// Sweep makes one pass. It refuses to start while the database's clock and this process's are more than five minutes apart. On
// an error, and when ctx ends, the stats say how far it came.
func (s *Sweeper) Sweep(ctx context.Context) (stats SweepStats, err error) {
	began := time.Now()
	defer func() { stats.Took = time.Since(began) }()
	if err := s.checkClock(ctx); err != nil {
		return stats, err
	}
	switch {
	case s.DryRun:
		stats.Due, err = q.SweepCount(ctx, s.Pool)
	case s.PerTenant:
		err = s.sweepTenants(ctx, &stats)
	default:
		err = s.sweep(ctx, &stats, func(from time.Time) (gen.SweepBatchRow, error) {
			return q.SweepBatch(ctx, s.Pool, gen.SweepBatchParams{FromTime: from, Batch: s.batch()})
		})
	}
	if err != nil {
		return stats, fmt.Errorf("idem: sweep: %w", err)
	}
	if stats.Unresolved, err = q.SweepUnresolved(ctx, s.Pool); err != nil {
		return stats, fmt.Errorf("idem: sweep: counting unresolved keys: %w", err)
	}
	return stats, nil
}

func (s *Sweeper) checkClock(ctx context.Context) error {
	before := time.Now()
	database, err := q.SweepClock(ctx, s.Pool)
	if err != nil {
		return fmt.Errorf("idem: sweep: %w", err)
	}
	if skew := min(database.Sub(before).Abs(), time.Until(database).Abs()); skew > maxClockSkew {
		return fmt.Errorf("idem: sweep: the database's clock and this machine's are %v apart: nothing was deleted; set the clocks first",
			skew.Round(time.Second))
	}
	return nil
}

func (s *Sweeper) sweepTenants(ctx context.Context, stats *SweepStats) error {
	for tenant := ""; ; {
		var err error
		if tenant, err = q.SweepNextTenant(ctx, s.Pool, tenant); err != nil || tenant == "" {
			return err
		}
		err = s.sweep(ctx, stats, func(from time.Time) (gen.SweepBatchRow, error) {
			row, err := q.SweepTenantBatch(ctx, s.Pool, gen.SweepTenantBatchParams{TenantID: tenant, FromTime: from, Batch: s.batch()})
			return gen.SweepBatchRow(row), err
		})
		if err != nil {
			return fmt.Errorf("tenant %q: %w", tenant, err)
		}
	}
}

// sweep deletes batch after batch. Each starts at the time where the last ended, so that it does not read again what the last
// one deleted and vacuum has not yet removed. Keys that were skipped lie behind it then, and with
// them the rest of a moment whose first whole batch is locked: the next pass starts at the beginning.
func (s *Sweeper) sweep(ctx context.Context, stats *SweepStats, batch func(from time.Time) (gen.SweepBatchRow, error)) error {
	for from := (time.Time{}); ; {
		got, err := batch(from)
		if err != nil {
			return err
		}
		stats.Batches++
		stats.Deleted += got.Deleted
		stats.Due += got.Due
		stats.Skipped += got.Due - got.Deleted
		if s.Progress != nil {
			s.Progress(*stats)
		}
		if got.Due < int64(s.batch()) {
			return nil
		}
		from = got.Last
		if got.Deleted == 0 {
			from = from.Add(time.Microsecond) // a whole batch of one moment, all locked: step over it
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(s.Pause):
		}
	}
}

func (s *Sweeper) batch() int32 {
	n := s.Batch
	defaultTo(&n, 2000)
	return int32(min(max(n, 1), 100_000))
}
