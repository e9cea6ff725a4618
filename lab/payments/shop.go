package payments

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/internal/processor"
)

// Shop is one API and the processor that it charges at, both running.
type Shop struct {
	api, processor *processor.Process
}

// Options are how the two are started.
type Options struct {
	Conns     int      // of the API's pool; the processor has some of its own
	API       []string // flags of examples/payments/api
	Processor []string // flags of examples/payments/processor
}

//go:embed charged.sql
var chargedSQL string

// Open starts a shop on the database of pool, and makes its charges count in lab.charged.
func (p *Programs) Open(ctx context.Context, pool *pgxpool.Pool, o Options) (_ *Shop, err error) {
	database := pool.Config().ConnString()
	s := new(Shop)
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if s.processor, err = processor.Start(ctx, p.path("processor"), withConns(database, processorConns), o.Processor...); err != nil {
		return nil, err
	}
	if s.api, err = processor.Start(ctx, p.path("api"), withConns(database, o.Conns), append(o.API, "--processor="+s.processor.URL)...); err != nil {
		return nil, err
	}
	if _, err := pool.Exec(ctx, chargedSQL); err != nil {
		return nil, fmt.Errorf("count the shop's charges: %w", err)
	}
	return s, nil
}

// Settled returns when everything that the processor was asked for has landed.
func (s *Shop) Settled(ctx context.Context) error {
	_, err := s.processor.Landed(ctx)
	return err
}

// Close ends the two.
func (s *Shop) Close() error {
	var errs []error
	for _, one := range []*processor.Process{s.api, s.processor} {
		if one != nil {
			errs = append(errs, one.Stop())
		}
	}
	return errors.Join(errs...)
}

// processorConns is enough for a row a charge.
const processorConns = 20

// withConns is a connection string, a URL, whose pool has n connections.
func withConns(database string, n int) string {
	sign := "?"
	if strings.Contains(database, "?") {
		sign = "&"
	}
	return database + sign + "pool_max_conns=" + strconv.Itoa(n)
}
