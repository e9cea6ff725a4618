package engine

import (
	"errors"
	"io"
	"net"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// batchEnd is what became of a batch.
type batchEnd int

const (
	decided     batchEnd = iota // committed, or not and for certain: what the claim says holds
	theirs                      // an error of the user's statements; all was rolled back
	unanswered                  // they recorded no answer; all was rolled back
	endedByThem                 // one of them ended the transaction, past the guard
	doubtful                    // it was sent, and what became of it is not known
)

// end judges the last trip, before on is given back.
func (f *batch) end(on *line) batchEnd {
	var p *placed
	isPlaced := errors.As(f.err, &p)
	switch {
	case f.err == nil:
		return decided
	case isPlaced && p.place == atBegin && f.unsendable(on, p.err):
		return theirs
	case !f.certain():
		return doubtful
	case !isPlaced || p.place < atWork || p.place == atCommit:
		return decided
	case on.conn.PgConn().TxStatus() == 'I':
		return endedByThem
	case p.place == atWork:
		return theirs
	case codeOf(f.err) == codeNotAnswered:
		return unanswered
	}
	return decided
}

// certain is certain, also of a trip that was lost while its statements were being prepared: those go ahead of it.
func (f *batch) certain() bool {
	var pre pgx.ErrPreprocessingBatch
	return certain(f.err) || errors.As(f.err, &pre)
}

// unsendable reports whether a trip failed before its first word because of the user's part in it: pgx could not write an argument, or
// the server could not prepare or parse the text.
func (f *batch) unsendable(on *line, err error) bool {
	var pre pgx.ErrPreprocessingBatch
	if errors.As(err, &pre) {
		return f.queued(pre.SQL()) && !isOfTheConnection(err)
	}
	pg := on.conn.PgConn()
	return !pg.IsClosed() && pg.TxStatus() == 'I' && !pgconn.SafeToRetry(err)
}

// queued reports whether sql, as pgx sends it, is one of the user's statements.
func (f *batch) queued(sql string) bool {
	for _, q := range f.trip.batch.QueuedQueries[f.from:][:len(f.work)] {
		if q.SQL == sql {
			return true
		}
	}
	return false
}

// isOfTheConnection reports whether err is about the way to the server, or the server's going away.
func isOfTheConnection(err error) bool {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.SeverityUnlocalized != severityError
	}
	var network net.Error
	return errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || pgconn.SafeToRetry(err)
}
