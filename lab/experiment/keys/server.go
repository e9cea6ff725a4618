package keys

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/pgidem/pgidem/lab/database"
	"github.com/pgidem/pgidem/lab/workbench"
)

// server is a kind's, with a pool of its own.
type server struct {
	*database.Database
	kind
}

// start starts a server for a kind, with tables that are empty.
func (k *Keys) start(ctx context.Context, b *workbench.Bench, kind kind) (*server, error) {
	db, err := b.Database(ctx, payers, k.settings())
	if err != nil {
		return nil, err
	}
	for _, t := range tables {
		if _, err := db.Pool.Exec(ctx, t.create); err != nil {
			return nil, errors.Join(fmt.Errorf("create %s: %w", t.name, err), db.Close())
		}
	}
	return &server{db, kind}, nil
}

//go:embed checkpoint.sql
var checkpointSQL string

// checkpoint makes the next write to each page log the whole page.
func (s *server) checkpoint(ctx context.Context) error {
	if _, err := s.Pool.Exec(ctx, checkpointSQL); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	return nil
}

// explained is what PostgreSQL says that a statement did.
type explained struct {
	Plan struct {
		BlocksRead int64 `json:"Shared Read Blocks"`
		WALBytes   int64 `json:"WAL Bytes"`
		FullPages  int64 `json:"WAL FPI"`
	}
}

// insert inserts n new keys in one transaction.
func (s *server) insert(ctx context.Context, t table, n int) (Insert, error) {
	some, err := s.some(n)
	if err != nil {
		return Insert{}, err
	}
	var did []explained
	began := time.Now()
	if err := s.Pool.QueryRow(ctx, t.insert, some).Scan(&did); err != nil {
		return Insert{}, fmt.Errorf("insert %d keys: %w", n, err)
	}
	plan := did[0].Plan
	return Insert{
		Seconds: time.Since(began).Seconds(), BlocksRead: plan.BlocksRead, WALBytes: plan.WALBytes, FullPageImages: plan.FullPages,
	}, nil
}

// measure adds up what was inserted into a table, and looks how large it has become.
func (s *server) measure(ctx context.Context, t table, inserts []Insert) (Kind, error) {
	k := Kind{Name: s.name, Inserts: inserts}
	for _, i := range inserts {
		k.Seconds += i.Seconds
		k.BlocksRead += i.BlocksRead
		k.WALBytes += i.WALBytes
		k.FullPageImages += i.FullPageImages
	}
	if err := s.Pool.QueryRow(ctx, t.size).Scan(&k.Rows, &k.IndexBytes, &k.TableBytes); err != nil {
		return k, fmt.Errorf("measure: %w", err)
	}
	return k, nil
}
