package faults_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/goleak"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/internal/testdb"
)

const (
	lease  = time.Second
	settle = 500 * time.Millisecond // with a lease less than the shortest partition, and no less than a charge takes
	// slack is what a slow, busy machine may add to a bounded wait.
	slack = 15 * time.Second
	// application begins the name by which the server knows the connections of a process.
	application = "faults: "
)

// stage is what one fault strikes: two processes on one database, and a card processor.
type stage struct {
	*testing.T
	scale     scale
	own       *testdb.Own
	processes []*process
	cards     *cards
	load      *load
	began     time.Time // the fault
	ended     time.Time
}

// process has a pool and a Store of its own: it shares no memory with another.
type process struct {
	way   way
	store *idem.Store
}

// run puts the load on, strikes, and looks at what is left.
func run(t *testing.T, own *testdb.Own, scale scale, f fault) row {
	s := &stage{T: t, scale: scale, own: own, cards: newCards()}
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { s.wantNothingLeft(before) }) // the last of all: every pool and proxy is closed by then
	for _, app := range []string{"first", "second"} {
		s.processes = append(s.processes, s.start(app, f.between))
	}
	s.load = s.startLoad()
	time.Sleep(scale.before)
	s.began = time.Now()
	times := f.strike(s)
	s.ended = time.Now()
	time.Sleep(scale.after)
	s.load.stop()

	r := s.row(f, times)
	r.unresolved = s.comeBack()
	r.effects = s.wantOneEffectAndOneAnswer()
	if times == 0 || f.hurts && len(r.errors) == 0 {
		t.Error("the fault has missed")
	}
	return r
}

func (s *stage) policy() idem.Policy {
	return idem.Policy{
		Retention: time.Hour, Lease: lease, Wait: 500 * time.Millisecond,
		Stale: idem.StaleResolve, Settle: settle, Resolve: s.cards.resolve,
	}
}

func (s *stage) start(app string, between route) *process {
	s.Helper()
	way := between(s.T, s.own.URL)
	pool := testdb.Pool(s.T, way.url, testdb.AsSuperuser, func(c *pgxpool.Config) {
		c.ConnConfig.RuntimeParams["application_name"] = application + app
		if way.messages != nil {
			c.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec // the proxy knows a COMMIT by its text
		}
	})
	p := &process{way: way, store: &idem.Store{Pool: pool, Policy: s.policy()}}
	s.Cleanup(p.store.Close)
	return p
}

// wantNothingLeft looks for what the processes have left behind.
func (s *stage) wantNothingLeft(before goleak.Option) {
	s.Helper()
	s.eventually("every connection is gone", slack, func() bool {
		return s.count("SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE $1", application+"%") == 0
	})
	goleak.VerifyNone(s, before)
}

func (s *stage) count(sql string, args ...any) (n int) {
	s.Helper()
	if err := s.own.Pool.QueryRow(context.WithoutCancel(s.Context()), sql, args...).Scan(&n); err != nil {
		s.Fatalf("%s: %v", sql, err)
	}
	return n
}

// eventually polls until ok, with a deadline that only a hang reaches.
func (s *stage) eventually(what string, within time.Duration, ok func() bool) {
	s.Helper()
	for end := time.Now().Add(within); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			s.Fatalf("not within %v: %s", within, what)
		}
	}
}
