package failover

import (
	"context"
	"errors"
	"strconv"

	"github.com/pgidem/pgidem/internal/devpg"
	"github.com/pgidem/pgidem/lab/design"
	"github.com/pgidem/pgidem/lab/workbench"
)

// postgresPair is a PostgreSQL server and its standby.
type postgresPair struct {
	first, second *postgresSite
	link          *link
}

const (
	standbyName    = "standby"
	lookers        = 2 // connections with which this experiment looks at a server
	maxConnections = 500
)

// newPostgres starts the two. With synchronous, a commit of a shop is confirmed when the standby has it too; the server's own
// default is local, so that its tables can be made before there is a standby.
func newPostgres(ctx context.Context, bench *workbench.Bench, card *design.Card, synchronous bool) (_ *postgresPair, err error) {
	settings := map[string]string{"max_connections": strconv.Itoa(maxConnections)}
	if synchronous {
		settings["synchronous_standby_names"], settings["synchronous_commit"] = standbyName, "local"
	}
	db, err := bench.Database(ctx, lookers, settings)
	if err != nil {
		return nil, err
	}
	p := &postgresPair{first: &postgresSite{card, db}}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.close())
		}
	}()
	if err := design.ResetClaims(ctx, db.Pool); err != nil {
		return nil, err
	}
	if p.link, err = newLink(db.Address()); err != nil {
		return nil, err
	}
	standby, err := db.Standby(ctx, lookers, devpg.StandbyOptions{Name: standbyName, Through: p.link.address()})
	if errors.Is(err, devpg.ErrNoBasebackup) {
		return nil, &workbench.ErrSkipped{Why: "no pg_basebackup"}
	}
	if err != nil {
		return nil, err
	}
	p.second = &postgresSite{card, standby}
	return p, nil
}

func (p *postgresPair) primary() site { return p.first }
func (p *postgresPair) replica() site { return p.second }
func (p *postgresPair) part()         { p.link.part() }
func (p *postgresPair) kill()         { p.first.db.Kill() }

func (p *postgresPair) caughtUp(ctx context.Context) error {
	return p.second.db.CaughtUp(ctx, p.first.db)
}
func (p *postgresPair) promote(ctx context.Context) error { return p.second.db.Promote(ctx) }

func (p *postgresPair) close() error {
	if p.link != nil {
		p.link.close()
	}
	err := p.first.db.Close()
	if p.second != nil {
		err = errors.Join(err, p.second.db.Close())
	}
	return err
}
