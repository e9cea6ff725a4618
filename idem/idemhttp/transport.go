package idemhttp

import (
	"cmp"
	"errors"
	"net/http"
	"time"
)

// Transport sends a request under one idempotency key until there is an answer that settles it. It is an http.RoundTripper for
// http.Client.Transport; the zero value is ready to use, by any number of goroutines.
//
// One request given to http.Client is one intention and has one key. A key that the caller has set is never replaced. Where none
// is set, one is made before the first try (NewKey) and stays through all tries and redirects; the caller's request is not
// changed, and given again it is a new intention under a new key. Set the key, and store it, wherever the intention may outlive
// the call: a queue, a button pressed twice, a process that restarts.
//
// The key that was sent stands in Response.Request.Header. Every error is a *TransportError, which has it too.
//
// Every try sends equal bytes: from Request.GetBody, which http.NewRequest sets for the readers that it knows, else from memory,
// into which a body of up to 1 MiB is read before the first try (so nothing is sent before such a body ends). A longer one is
// streamed, and sent once.
//
// GET, HEAD, OPTIONS and TRACE go to Base as they are.
type Transport struct {
	// Base sends each try. nil: http.DefaultTransport.
	Base http.RoundTripper
	// Header carries the key. net/http repeats a request on a new connection, when an idle one turns out to be closed, only if
	// this is Idempotency-Key or X-Idempotency-Key; under another name Transport does it. "": Idempotency-Key.
	Header string
	// Tries is how often a request is sent at most. 0: 5.
	Tries int
	// MinBackoff is the longest wait after the first try. It doubles with each try up to MaxBackoff, and each wait is drawn
	// evenly from zero to its longest. 0: 250 ms and 10 s.
	MinBackoff, MaxBackoff time.Duration
	// MaxRetryAfter is the longest Retry-After to be waited for, instead of the backoff where that is shorter. An answer that
	// asks for more goes to the caller at once. 0: 30 s.
	MaxRetryAfter time.Duration
	// TryTimeout is how long one try may take, reading its answer's body included. 0: as long as the request's context lets it.
	TryTimeout time.Duration
	// MaxAge is how old a key may be, looked at before every try; beyond it the answer is ErrKeyTooOld. It must be shorter than
	// the server's retention, after which the same key means a new request. See WithMintedAt. 0: 23 h, for a retention of 24 h.
	MaxAge time.Duration
	// Retry reports whether a try has not settled the request: with an answer or with an error, as from Base. It is not asked
	// where no further try is possible. nil: NotYet.
	Retry func(*http.Response, error) bool
}

// RoundTrip sends r until an answer settles it, no try is left, or the next one could not begin before r's context ends; then it
// returns what the last try gave. A context that ends during a wait is an error with its cause.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	switch cmp.Or(r.Method, http.MethodGet) {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return t.base().RoundTrip(r)
	}
	d, err := t.newDelivery(r)
	if err != nil {
		return nil, d.failure(err)
	}
	defer d.body.close()
	for {
		if err := d.mayTry(); err != nil {
			return nil, d.failure(err)
		}
		resp, err := d.try()
		wait, again := d.next(resp, err)
		switch {
		case again:
			discard(resp)
			if err := d.pause(wait, resp, err); err != nil {
				return nil, d.failure(err)
			}
		case err != nil:
			return nil, d.failure(err)
		default:
			return resp, nil
		}
	}
}

// CloseIdleConnections closes those of Base; http.Client's method of this name asks for it.
func (t *Transport) CloseIdleConnections() {
	if c, ok := t.base().(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

func (t *Transport) base() http.RoundTripper {
	if t.Base == nil {
		return http.DefaultTransport
	}
	return t.Base
}

// withDefaults is a copy of t with every zero replaced, or what is wrong with it.
func (t *Transport) withDefaults() (Transport, error) {
	if min(t.MinBackoff, t.MaxBackoff, t.MaxRetryAfter, t.TryTimeout, t.MaxAge) < 0 || t.Tries < 0 {
		return Transport{}, errors.New("no number of a Transport may be negative")
	}
	c := Transport{
		Base:          t.base(),
		Header:        cmp.Or(t.Header, HeaderKey),
		Tries:         cmp.Or(t.Tries, 5),
		MinBackoff:    cmp.Or(t.MinBackoff, 250*time.Millisecond),
		MaxBackoff:    cmp.Or(t.MaxBackoff, 10*time.Second),
		MaxRetryAfter: cmp.Or(t.MaxRetryAfter, 30*time.Second),
		TryTimeout:    t.TryTimeout,
		MaxAge:        cmp.Or(t.MaxAge, 23*time.Hour),
		Retry:         t.Retry,
	}
	if c.Retry == nil {
		c.Retry = NotYet
	}
	return c, nil
}
