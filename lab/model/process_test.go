package model

import (
	"context"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/idem"
)

// process is one process of a client: a pool of two, Stores that share no memory with another's, and the leases that it has at
// hand. It dies at once and without a word.
type process struct {
	fuses   *fuses
	wire    *wire
	pool    *pgxpool.Pool
	store   *idem.Store
	pockets map[string]*pocket
	company company
	died    chan struct{}
	once    sync.Once
}

func newProcess(config *pgxpool.Config, f *fuses, s *shared) *process {
	p := &process{fuses: f, pockets: map[string]*pocket{}, died: make(chan struct{})}
	p.wire = &wire{process: p, conns: map[*conn]bool{}}
	config.MaxConns = 2
	config.ConnConfig.Tracer = s
	config.ConnConfig.DialFunc = p.wire.dial
	config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec // a new process need not prepare what it sends
	var err error
	if p.pool, err = pgxpool.NewWithConfig(context.Background(), config); err != nil {
		panic(err) // it dials nobody, and the configuration is that of a pool
	}
	p.store = &idem.Store{Pool: p.pool, NoCoalescing: noCoalescing}
	return p
}

// die is SIGKILL, as far as anybody else can tell: what still runs in here reaches nobody.
func (p *process) die() {
	p.once.Do(func() {
		close(p.died)
		p.wire.cutAll()
	})
}

func (p *process) isDead() bool {
	select {
	case <-p.died:
		return true
	default:
		return false
	}
}

// burns reports whether the process dies at this point. A dead one does not die again.
func (p *process) burns(at point) bool { return !p.isDead() && p.fuses.burns(at) }

// close returns when nothing of the process runs any more.
func (p *process) close() {
	p.company.callers.Wait()
	p.store.Close()
	p.pool.Close()
}
