package failover

import (
	"context"
	_ "embed"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/pgidem/pgidem/internal/processor"
	"github.com/pgidem/pgidem/lab/database"
	"github.com/pgidem/pgidem/lab/design"
	"github.com/pgidem/pgidem/lab/workbench"
)

// books are the card processor's: a database of its own, which is not lost, and the processor on it.
type books struct {
	card *design.Card

	db        *database.Database
	processor processor.Processor
	server    *http.Server
}

const booksConns = 20

func openBooks(ctx context.Context, bench *workbench.Bench) (_ *books, err error) {
	b := new(books)
	if b.db, err = bench.Database(ctx, booksConns, nil); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.db.Close())
		}
	}()
	if err := processor.Install(ctx, b.db.Pool); err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	b.processor.Pool = b.db.Pool
	b.server = &http.Server{Handler: &b.processor, ReadHeaderTimeout: time.Minute}
	go func() { _ = b.server.Serve(listener) }() // until close
	b.card = design.NewCard("http://"+listener.Addr().String(), nil)
	return b, nil
}

// behave makes it a processor of one kind. held: what it is asked for from now on does not land until letGo.
func (b *books) behave(p Processor, held bool) error {
	now := processor.Behaviour{Hold: held}
	if p == Charges {
		now.Repeat = processor.RepeatCharge
	}
	return b.processor.Become(now)
}

// letGo lets what is held land.
func (b *books) letGo() error { return b.processor.Become(processor.Behaviour{}) }

//go:embed books.sql
var booksSQL string

func (b *books) charged(ctx context.Context) (map[string]charged, error) {
	return readCharged(ctx, b.db.Pool, booksSQL)
}

// pending is how many calls have arrived and not landed.
func (b *books) pending(ctx context.Context) (int, error) {
	s, err := b.processor.Stats(ctx)
	return int(s.Pending), err
}

// refused is how many repeats of a key were refused so far.
func (b *books) refused(ctx context.Context) (int, error) {
	s, err := b.processor.Stats(ctx)
	return int(s.Refused), err
}

func (b *books) close() error {
	return errors.Join(b.letGo(), b.server.Close(), b.db.Close())
}
