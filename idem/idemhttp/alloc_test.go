package idemhttp

import (
	"fmt"
	"net/http"
	"runtime"
	"testing"

	"github.com/pgidem/pgidem/internal/pgstub"
)

// Two copies are pgx's, one in its parameters and one in its write buffer; the recorder's is used again. A replay is one copy,
// pgx's; from the cache it is none.
func TestAnswerOf1MiBAllocatesUnder3MiB(t *testing.T) { // not parallel: it counts what the whole process allocates
	body := orderOf(1 << 20)
	for _, mode := range []string{"lease", "atomic"} {
		for _, piece := range []int{1 << 20, 32 << 10} {
			for _, declared := range []bool{true, false} {
				answer := written{body: body, piece: piece, declared: declared}
				t.Run(fmt.Sprintf("%s, first, %d bytes a write, declared %t", mode, piece, declared), func(t *testing.T) {
					wantUnder(t, 3<<20, answer, answer.under(t, mode, &pgstub.Stub{}))
				})
			}
		}
		t.Run(mode+", replay", func(t *testing.T) {
			answer := written{body: body}
			wantUnder(t, 19<<20/10, answer, answer.under(t, mode, &pgstub.Stub{Body: body}))
		})
		t.Run(mode+", replay from the cache", func(t *testing.T) {
			answer := written{body: body, cache: 2 << 20}
			wantUnder(t, 1<<19, answer, answer.under(t, mode, &pgstub.Stub{Body: body}))
		})
	}
}

// What is too large to be kept is not put together either.
func TestAnswerThatIsNotKeptIsHeldInUsedMemory(t *testing.T) { // not parallel: it counts what the whole process allocates
	answer := written{body: orderOf(4 << 20), piece: 32 << 10}
	wantUnder(t, 2<<20, answer, answer.under(t, "atomic", &pgstub.Stub{}))
}

func wantUnder(t *testing.T, most uint64, a written, h http.Handler) {
	t.Helper()
	c := newCaller()
	got := allocated(20, func() {
		if n := c.call(h); n != len(a.body) {
			t.Fatalf("%d bytes, want %d", n, len(a.body))
		}
	})
	t.Logf("%.2f MiB", float64(got)/(1<<20))
	if got >= most {
		t.Errorf("%d bytes were allocated a request", got)
	}
}

// allocated is how many bytes a run of f allocates on average, as AllocedBytesPerOp counts them, warmed up. Of three counts it is
// the least, for what others allocate meanwhile can only add.
func allocated(runs int, f func()) (least uint64) {
	for range 5 {
		f()
	}
	for range 3 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range runs {
			f()
		}
		runtime.ReadMemStats(&after)
		if got := (after.TotalAlloc - before.TotalAlloc) / uint64(runs); least == 0 || got < least {
			least = got
		}
	}
	return least
}
