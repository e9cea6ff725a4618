package engine

import "errors"

// place is where in a batch's trip a statement stands. SQLSTATEs do not tell: a time-out of the user's statement is no rival's doing.
type place int

const (
	atBegin  place = iota // BEGIN, and whatever keeps the trip from being sent
	atClaim               // whatever claims the row, and stops the trip where it does not
	atWork                // the user's statements
	atAnswer              // what reads the recorded answer, and stops the trip where there is none
	atCommit
)

// placed is an error with its place.
type placed struct {
	place place
	err   error
}

func (e *placed) Error() string { return e.err.Error() }
func (e *placed) Unwrap() error { return e.err }

func (p place) of(err error) error {
	if err == nil {
		return nil
	}
	return &placed{p, err}
}

// behindClaim reports whether err is of a statement that ran because the claim was granted.
func behindClaim(err error) bool {
	var p *placed
	return errors.As(err, &p) && p.place >= atWork
}

// notClaimed reports whether a batch was stopped because its claim was not granted.
func notClaimed(err error) bool {
	var p *placed
	return errors.As(err, &p) && p.place == atClaim && codeOf(err) == codeNotClaimed
}

// unplaced is the error as pgx returned it.
func unplaced(err error) error {
	var p *placed
	if errors.As(err, &p) {
		return p.err
	}
	return err
}
