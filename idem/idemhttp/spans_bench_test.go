package idemhttp

import (
	"slices"
	"testing"
	"time"
)

// spans are the last times that something took. Their median is what a benchmark reports: whatever else the machine does hits
// some of them, and would be in a mean.
type spans struct {
	all [1 << 12]time.Duration
	n   int
}

func (s *spans) add(d time.Duration) {
	s.all[s.n%len(s.all)] = d
	s.n++
}

// median is in nanoseconds.
func (s *spans) median() float64 {
	all := s.all[:min(s.n, len(s.all))]
	slices.Sort(all)
	return float64(all[len(all)/2])
}

// byMedian runs f in batches long enough for the clock, and reports the median batch's time as ns/op.
func byMedian(b *testing.B, batch int, f func()) {
	took := new(spans)
	b.ReportAllocs()
	began, n := time.Now(), 0
	for b.Loop() {
		f()
		if n++; n == batch {
			now := time.Now()
			took.add(now.Sub(began))
			began, n = now, 0
		}
	}
	if took.n > 0 {
		b.ReportMetric(took.median()/float64(batch), "ns/op")
	}
}
