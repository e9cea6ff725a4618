package idemhttp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/idem/internal/borrow"
)

// ask runs claim under the request's key. A key that was stored under another version of the fingerprint is asked for again under
// that version, so that a new version makes no running retry a stranger; three times in all, for the key may change hands between
// binaries of two versions meanwhile.
func (m *Middleware) ask(in *request, claim func(idem.Key) (*idem.Response, error)) (*idem.Response, error) {
	key := in.key
	for range 3 {
		resp, err := claim(key)
		var k *idem.KeyError
		if !errors.Is(err, idem.ErrMismatch) || !errors.As(err, &k) || k.FingerprintVersion == 0 {
			return resp, err
		}
		if key.Fingerprint, err = m.fingerprint(in, k.FingerprintVersion); err != nil {
			return nil, err
		}
	}
	return nil, idem.ErrContended
}

// readsBody marks the context of a call: an answer from memory is written out and forgotten here, so its body may be others' too.
func readsBody(ctx context.Context, key idem.Key) context.Context {
	return borrow.Body(ctx, key.Tenant, key.Endpoint, key.ID)
}

// finish answers with what is on record, or with what kept the request from being answered.
func (m *Middleware) finish(w http.ResponseWriter, in *request, resp *idem.Response, err error) {
	switch {
	case err != nil:
		m.refuse(w, in.Request, err)
	case resp.BodyDropped:
		p := responseNotKept.saying("It was too large or was streamed. The request took effect; it will not run again.")
		p.ResponseStatus = resp.Status
		p.send(w, 0)
	default:
		replay(w, resp)
	}
}

// replay answers with what was recorded.
func replay(w http.ResponseWriter, resp *idem.Response) {
	h := w.Header()
	for name, values := range resp.Header {
		h[name] = values
	}
	if _, typed := h["Content-Type"]; !typed {
		h["Content-Type"] = nil // the first answer had none, and net/http is not to guess one
	}
	if resp.Replayed {
		h.Set(HeaderReplayed, "true")
	}
	status := resp.Status
	if status < 200 { // recorded by a caller whose protocol has no status
		status = http.StatusOK
	}
	if status != http.StatusNoContent && status != http.StatusNotModified {
		h.Set("Content-Length", strconv.Itoa(len(resp.Body)))
	}
	w.WriteHeader(status)
	_, _ = w.Write(resp.Body) // a client that has hung up
}

// refuse answers with the problem that err is.
func (m *Middleware) refuse(w http.ResponseWriter, r *http.Request, err error) {
	p, fault := problemOf(err)
	hungUp := r.Context().Err() != nil && errors.Is(fault, context.Canceled) // that is no fault of the server's
	if fault != nil && !hungUp && !errors.Is(fault, idem.ErrDraining) {
		m.logger().ErrorContext(r.Context(), "idemhttp: "+p.Title, "method", r.Method, "pattern", r.Pattern, "err", fault)
	}
	after, _ := idem.RetryAfter(err)
	if after == 0 && (p.Type == unavailable.Type || p.Type == inFlight.Type) {
		after = time.Second
	}
	p.send(w, after)
}

// problemOf is what a client is told about err, and what the log is.
func problemOf(err error) (p Problem, fault error) {
	var own *refusal
	var handler *handlerError
	switch {
	case errors.As(err, &own):
		return own.problem, own.err
	case errors.As(err, &handler):
		return failed.saying("The key is free: the same request may be sent again."), err
	}
	if k, ok := kindOf(err); ok {
		if k.fault {
			fault = err
		}
		return k.problem.saying(k.detail), fault
	}
	// The caller went away, or the policy is not one: nothing was run.
	return unavailable, fmt.Errorf("the request was not run: %w", err)
}

// kind is what an error of the Store's own is to a client.
type kind struct {
	err     error
	problem Problem
	detail  string
	fault   bool // of the server's, for the log
}

var kinds = []kind{
	{idem.ErrMismatch, keyReused, "Method, path, query or body differ from those that the key was first sent with. A new request needs a new key.", false},
	{idem.ErrOutcomeUnknown, outcomeUnknown, "It may have taken effect. It is not run again; ask whoever runs this service.", false},
	{idem.ErrCommitUnknown, commitUnknown, "Send the same request with the same key: it will be answered, and not run twice.", true},
	{idem.ErrContended, claimContended, "Nothing was done. Send the same request with the same key again.", false},
	{idem.ErrInFlight, inFlight, "Send the same request with the same key again, after the time in Retry-After.", false},
	// its holder was replaced, so somebody else is at it
	{idem.ErrLeaseLost, inFlight, "Send the same request with the same key again, after the time in Retry-After.", true},
	{idem.ErrTxOwned, failed, "", true},
	{idem.ErrUnavailable, unavailable, "Send the same request with the same key again.", true},
	{idem.ErrInvalidKey, misconfigured, "", true},
	{idem.ErrInvalidPolicy, misconfigured, "", true},
}

func kindOf(err error) (k kind, ok bool) {
	i := slices.IndexFunc(kinds, func(k kind) bool { return errors.Is(err, k.err) })
	if i < 0 {
		return kind{}, false
	}
	return kinds[i], true
}

// keptBody is how many bytes of an answer's body a policy keeps.
func keptBody(p idem.Policy) int {
	if p.MaxBody == 0 {
		return 1 << 20
	}
	return p.MaxBody
}
