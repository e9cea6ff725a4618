package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pgidem/pgidem/gen"
)

// Sender is a connection or a transaction.
type Sender interface {
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}

// Statement sends exactly one statement to db and keeps its result. A Trip calls it twice: once to record the statement,
// when db answers with an error that is to be returned, and once more to read the result.
type Statement func(ctx context.Context, db gen.DBTX) error

// Trip gathers statements that travel together: one round trip, a snapshot each. Unlike one statement that does two things,
// its later statements see what others committed while an earlier one waited.
type Trip struct {
	batch      pgx.Batch
	statements []Statement
}

// Begin opens a transaction; only as the first word. READ COMMITTED is named because a role or database may have another
// default, under which a claim that lost would not see the winner's answer.
func (t *Trip) Begin() {
	t.batch.BeginTx(pgx.TxOptions{IsoLevel: pgx.ReadCommitted})
	t.statements = append(t.statements, func(ctx context.Context, db gen.DBTX) error {
		_, err := db.Exec(ctx, "")
		return err
	})
}

// Word adds transaction control: SAVEPOINT, RELEASE, ROLLBACK.
func (t *Trip) Word(sql string) {
	t.Add(func(ctx context.Context, db gen.DBTX) error {
		_, err := db.Exec(ctx, sql)
		return err
	})
}

// Commit adds COMMIT, and makes an error of a COMMIT that the server answered with ROLLBACK.
func (t *Trip) Commit() {
	t.Add(func(ctx context.Context, db gen.DBTX) error {
		tag, err := db.Exec(ctx, "COMMIT")
		if err == nil && tag.String() == "ROLLBACK" {
			return pgx.ErrTxCommitRollback
		}
		return err
	})
}

// Add adds one statement.
func (t *Trip) Add(s Statement) {
	recorded := t.batch.Len()
	if err := s(context.Background(), recorder{&t.batch}); !errors.Is(err, errRecorded) || t.batch.Len() != recorded+1 {
		panic(fmt.Sprintf("engine: a trip's statement must send one statement and return its error: sent %d, returned %v",
			t.batch.Len()-recorded, err))
	}
	t.statements = append(t.statements, s)
}

// at gives the errors of the statements that add adds their place.
func (t *Trip) at(p place, add func(*Trip)) {
	first := len(t.statements)
	add(t)
	for i, s := range t.statements[first:] {
		t.statements[first+i] = func(ctx context.Context, db gen.DBTX) error { return p.of(s(ctx, db)) }
	}
}

// Send sends all statements and reads their results in order, up to the first that fails; its error comes back. tx is the
// transaction that Begin opened, nil without.
func (t *Trip) Send(ctx context.Context, to Sender) (tx pgx.Tx, err error) {
	results := to.SendBatch(ctx, &t.batch)
	for _, s := range t.statements {
		if err = s(ctx, player{results}); err != nil {
			break
		}
	}
	if notClaimed(err) {
		t.batch.QueuedQueries = nil // on Close pgx forgets what it has prepared for a batch that failed; nothing is wrong with these
	}
	if closed := results.Close(); err == nil {
		err = closed
	}
	return results.Tx(), err
}

var errRecorded = errors.New("engine: recorded, not sent")

type recorder struct{ batch *pgx.Batch }

func (r recorder) Exec(_ context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	r.batch.Queue(sql, args...)
	return pgconn.CommandTag{}, errRecorded
}

func (r recorder) Query(_ context.Context, sql string, args ...any) (pgx.Rows, error) {
	r.batch.Queue(sql, args...)
	return nil, errRecorded
}

func (r recorder) QueryRow(_ context.Context, sql string, args ...any) pgx.Row {
	r.batch.Queue(sql, args...)
	return recordedRow{}
}

type recordedRow struct{}

func (recordedRow) Scan(...any) error { return errRecorded }

type player struct{ results pgx.BatchResults }

func (p player) Exec(context.Context, string, ...any) (pgconn.CommandTag, error) {
	return p.results.Exec()
}

func (p player) Query(context.Context, string, ...any) (pgx.Rows, error) { return p.results.Query() }

func (p player) QueryRow(context.Context, string, ...any) pgx.Row { return p.results.QueryRow() }
