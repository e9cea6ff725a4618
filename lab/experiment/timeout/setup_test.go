package timeout

import (
	"context"
	"os"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/internal/testdb"
	"github.com/pgidem/pgidem/lab/design"
	"github.com/pgidem/pgidem/lab/payments"
	"github.com/pgidem/pgidem/lab/report"
	"github.com/pgidem/pgidem/lab/workbench"
)

// built are the example's programs, built once.
var built = sync.OnceValues(func() (*payments.Programs, error) { return payments.Build(context.Background()) })

func TestMain(m *testing.M) {
	code := m.Run()
	if programs, err := built(); err == nil {
		_ = programs.Close()
	}
	os.Exit(code)
}

// bundle is a stage whose progress is counted.
type bundle struct {
	stage
	shown map[string]int // steps, by name
	steps int            // that were taken
	ended int
}

func setup(t *testing.T) *bundle {
	t.Helper()
	programs, err := built()
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	b := &bundle{shown: map[string]int{}}
	b.programs = programs
	b.bench = &workbench.Bench{Steps: func(name string, n int) (func(), func()) {
		b.shown[name] = n
		return func() {
			mu.Lock()
			defer mu.Unlock()
			b.steps++
		}, func() { b.ended++ }
	}}
	b.pool = testdb.New(t, func(c *pgxpool.Config) { c.MaxConns = conns })
	if err := design.Install(t.Context(), b.pool); err != nil {
		t.Fatal(err)
	}
	if err := b.prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	return b
}

// wantShown checks that all progress was shown to its end.
func (b *bundle) wantShown(t *testing.T, runs int) {
	t.Helper()
	total := 0
	for name, n := range b.shown {
		total += n
		if len(name) > 32 {
			t.Errorf("%q has over 32 columns", name)
		}
	}
	if len(b.shown) != runs || b.ended != runs || b.steps != total {
		t.Errorf("%v were shown, %d steps were taken, %d runs ended; want %d", b.shown, b.steps, b.ended, runs)
	}
}

func wantAll(t *testing.T, findings []report.Finding) {
	t.Helper()
	for _, f := range findings {
		if !f.Holds && f.Must {
			t.Errorf("%s: %s Measured: %s", f.Source, f.Claim, f.Measured)
		}
	}
}
