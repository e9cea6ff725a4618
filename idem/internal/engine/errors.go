package engine

import (
	"errors"
	"fmt"
	"regexp"

	"github.com/jackc/pgx/v5/pgconn"
)

// The outcomes that the engine itself finds. Package idem gives them their public names and says what each means.
var (
	ErrInFlight      = errors.New("the key is in flight")
	ErrContended     = errors.New("the key's row changed at every look")
	ErrUnavailable   = errors.New("the database cannot say who owns the key; nothing ran")
	ErrCommitUnknown = errors.New("the commit went unanswered and cannot be read back")
	ErrLeaseLost     = errors.New("the lease on the key is lost")
	ErrTxOwned       = errors.New("the transaction is not fn's to end")
	ErrNoAnswer      = errors.New("no statement of the batch recorded an answer; nothing was changed")
)

// SQLSTATEs that the protocol acts on.
const (
	codeLeaseLost      = "IDM01" // raised by idem.lease_lost()
	codeNotClaimed     = "IDM02" // raised by idem.not_claimed()
	codeNotAnswered    = "IDM03" // raised by idem.not_answered()
	codeQueryCanceled  = "57014" // statement_timeout ran out
	codeLockNotAvail   = "55P03" // lock_timeout ran out
	codeSerialization  = "40001"
	codeDeadlock       = "40P01"
	severityError      = "ERROR" // what aborts a transaction but not its connection
	messageUserRequest = "canceling statement due to user request"
)

func unavailable(err error) error { return fmt.Errorf("%w: %w", ErrUnavailable, err) }

// IsSerialization reports whether the caller's whole transaction has to run again; such an error reaches it unchanged.
func IsSerialization(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && (pg.Code == codeSerialization || pg.Code == codeDeadlock)
}

// timedOut reports whether a claim's statement gave up waiting for a rival.
func timedOut(err error) bool {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return false
	}
	return pg.Code == codeLockNotAvail || pg.Code == codeQueryCanceled && pg.Message != messageUserRequest
}

// tupleID is how the server's context names the row that a statement waited at, in every language: while inserting index tuple
// (0,1) in relation "keys_pkey".
var tupleID = regexp.MustCompile(`\([0-9]+,[0-9]+\)`)

// behindRival reports whether a statement that timed out had been waiting for another transaction's row. One that was cut off by
// a lock that protects a page, or by a slow machine, has no such context.
func behindRival(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && tupleID.MatchString(pg.Where)
}

// codeOf is the SQLSTATE of err, "" where it has none.
func codeOf(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code
	}
	return ""
}

// certain reports whether err shows that the transaction it ended was rolled back: the server itself said so and stayed,
// or nothing was sent. A lost connection, a time-out or a server that went away shows nothing.
func certain(err error) bool {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.SeverityUnlocalized == severityError
	}
	return pgconn.SafeToRetry(err)
}

// LeaseLost turns the error that SQL raises for a lost fence into ErrLeaseLost.
func LeaseLost(err error) error {
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == codeLeaseLost {
		return fmt.Errorf("%w: %w", ErrLeaseLost, err)
	}
	return err
}
