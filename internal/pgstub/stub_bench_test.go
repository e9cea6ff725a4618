package pgstub_test

import (
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pgidem/pgidem/internal/pgstub"
)

// BenchmarkRoundTrip is what the stub costs a benchmark that it serves: pgx's batch of two words, the loopback, the answer. ns/op
// is the median.
func BenchmarkRoundTrip(b *testing.B) {
	conn := one(b, (&pgstub.Stub{}).Pool(b))
	var took []time.Duration
	for b.Loop() {
		began := time.Now()
		batch := new(pgx.Batch)
		batch.Queue("BEGIN")
		batch.Queue("COMMIT")
		if err := conn.SendBatch(b.Context(), batch).Close(); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2]), "ns/op")
}
