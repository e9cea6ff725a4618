package cleanup

import (
	"errors"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pgidem/pgidem/idem"
)

// answer is what a client is told.
type answer struct {
	status int // 0: nothing, because the process died
	says   string
}

func (a answer) String() string {
	if a.status == 0 {
		return a.says
	}
	return strconv.Itoa(a.status) + " " + a.says
}

// done reports whether the client has what it came for.
func (a answer) done() bool { return a.status >= 200 && a.status < 300 }

// The answers of the article's handler.
var (
	charged    = answer{201, "charged"}
	replayed   = answer{200, "replayed"}
	inProgress = answer{409, "request_in_progress"}
	contended  = answer{409, "claim_contended"}
	noAnswer   = answer{0, "no answer"}
)

// failed is what a client is told of an error that its handler does not expect.
func failed(err error) answer { return answer{500, nameOf(err)} }

// nameOf is the SQLSTATE of an error, or what else it is known by.
func nameOf(err error) string {
	var pg *pgconn.PgError
	switch {
	case errors.As(err, &pg):
		return pg.Code
	case errors.Is(err, pgx.ErrNoRows):
		return "no rows in result set"
	}
	return err.Error()
}

// answerOf is what the product's middleware tells the client.
func answerOf(resp *idem.Response, err error) answer {
	switch {
	case errors.Is(err, idem.ErrInFlight):
		return inFlight
	case errors.Is(err, idem.ErrOutcomeUnknown):
		return outcomeUnknown
	case errors.Is(err, idem.ErrContended):
		return claimContended
	case err != nil:
		return failed(err)
	case resp.Replayed:
		return replayed
	}
	return charged
}

var (
	inFlight       = answer{409, "in-flight"}
	outcomeUnknown = answer{409, "outcome-unknown"}
	claimContended = answer{409, "claim-contended"}
)
