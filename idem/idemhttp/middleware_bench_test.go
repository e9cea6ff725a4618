package idemhttp

import (
	"net/http"
	"testing"
	"time"

	"github.com/pgidem/pgidem/internal/pgstub"
)

// BenchmarkMiddleware weighs the whole against the bare handler, in front of a stub that speaks PostgreSQL's protocol and answers
// at once: what is left of a request's time is ours, pgx's and the loopback's.
//
//	go test -run '^$' -bench Middleware ./idem/idemhttp
func BenchmarkMiddleware(b *testing.B) {
	for _, mode := range []string{"lease", "atomic"} {
		for _, size := range benchSizes {
			answer := written{body: orderOf(size.bytes), piece: size.bytes, declared: true}
			b.Run(mode+"/first/"+size.name, func(b *testing.B) { answer.weigh(b, mode, &pgstub.Stub{}) })
			b.Run(mode+"/replay/"+size.name, func(b *testing.B) { answer.weigh(b, mode, &pgstub.Stub{Body: answer.body}) })
		}
	}
}

// weigh calls the bare handler and the one under the middleware by turns, so that whatever else the machine does hits both. Both
// times are medians: ns/op is the middleware's, bare-ns the other. What is allocated is the sum.
func (a written) weigh(b *testing.B, mode string, stub *pgstub.Stub) {
	bare, under := a.bare(), a.under(b, mode, stub)
	c := newCaller()
	timed := func(h http.Handler) time.Duration {
		began := time.Now()
		if n := c.call(h); n != len(a.body) {
			b.Fatalf("%d bytes, want %d", n, len(a.body))
		}
		return time.Since(began)
	}
	timed(under) // dials, and prepares the statements
	bares, unders := new(spans), new(spans)
	b.ReportAllocs()
	for b.Loop() {
		bares.add(timed(bare))
		unders.add(timed(under))
	}
	b.ReportMetric(unders.median(), "ns/op")
	b.ReportMetric(bares.median(), "bare-ns")
}
