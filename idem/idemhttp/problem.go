package idemhttp

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"
)

// ProblemBase is the head of every problem's type. The tail is a fragment of docs/protocol.md, where the problem is explained.
const ProblemBase = "https://github.com/pgidem/pgidem/blob/main/docs/protocol.md#"

// Problem is an answer of the middleware's own: a problem document (RFC 9457). It holds nothing of an earlier request or its
// answer, ResponseStatus of response-not-kept excepted.
type Problem struct {
	Type           string `json:"type"` // ProblemBase and a name that never changes
	Title          string `json:"title"`
	Status         int    `json:"status"`
	Detail         string `json:"detail,omitempty"`
	ResponseStatus int    `json:"response_status,omitempty"` // the first answer's status, where it was not kept
}

// Problems, by the name at the end of their type.
var (
	missingKey      = problem(http.StatusBadRequest, "missing-key", "The request needs an idempotency key")
	malformedKey    = problem(http.StatusBadRequest, "malformed-key", "The idempotency key is malformed")
	unreadableBody  = problem(http.StatusBadRequest, "unreadable-body", "The body of the request could not be read")
	unauthenticated = problem(http.StatusUnauthorized, "unauthenticated", "The request says not whose it is")
	inFlight        = problem(http.StatusConflict, "in-flight", "A request with this idempotency key is being worked on")
	claimContended  = problem(http.StatusConflict, "claim-contended", "The idempotency key is contended")
	outcomeUnknown  = problem(http.StatusConflict, "outcome-unknown", "The outcome of an earlier request with this idempotency key is unknown")
	responseNotKept = problem(http.StatusConflict, "response-not-kept", "The request was answered before, and the answer was not kept")
	bodyTooLarge    = problem(http.StatusRequestEntityTooLarge, "body-too-large", "The body of the request is too large")
	keyReused       = problem(http.StatusUnprocessableEntity, "key-reused", "The idempotency key was used for another request")
	failed          = problem(http.StatusInternalServerError, "failed", "The request failed and left nothing behind")
	misconfigured   = problem(http.StatusInternalServerError, "misconfigured", "The server is not set up for idempotency keys")
	unavailable     = problem(http.StatusServiceUnavailable, "unavailable", "The idempotency key could not be looked up; nothing was done")
	commitUnknown   = problem(http.StatusServiceUnavailable, "commit-unknown", "The request was worked on and its record could not be confirmed")
)

func problem(status int, name, title string) Problem {
	return Problem{Type: ProblemBase + name, Title: title, Status: status}
}

// saying is p with a detail.
func (p Problem) saying(detail string) Problem {
	p.Detail = detail
	return p
}

// send answers with p. after, unless it is 0, tells when coming back with the same key helps.
func (p Problem) send(w http.ResponseWriter, after time.Duration) {
	h := w.Header()
	// What stood there for another answer would be wrong on this one.
	for _, name := range []string{"Content-Encoding", "Content-Length", "Etag", "Last-Modified", "Trailer"} {
		h.Del(name)
	}
	h.Set("Content-Type", "application/problem+json")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	if after > 0 {
		h.Set("Retry-After", strconv.FormatInt(int64((after+time.Second-1)/time.Second), 10))
	}
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p) // a client that has hung up
}
