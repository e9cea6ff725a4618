package idemhttp

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/pgidem/pgidem/idem"
)

// Work is next as an idem.Completer runs it, when the process that had the request is gone and the client does not come back. The
// route's Policy.Handler must be set, for then requests are stored with their keys, as far as storedRequest says; the Completer
// knows this work by that name:
//
//	Handlers: map[string]idem.Work{"charge": charges.Work(chargeHandler)}
//
// next gets the request as it came, without the client's credentials and without what middleware in front had put into its
// context: TenantFrom is whose it is. Its answer is recorded for the retry that may yet come; one that is not kept leaves the key as
// it was.
func (m *Middleware) Work(next http.Handler) idem.Work {
	return func(ctx context.Context, l *idem.Lease) (*idem.Response, error) {
		r, pattern, err := readStored(l.Request())
		if err != nil {
			return nil, fmt.Errorf("idemhttp: the request that is stored with the key: %w", err)
		}
		in := &request{Request: r, key: l.Key()}
		if in.body, err = m.readBody(r); err != nil {
			return nil, err
		}
		run := newLeasedRun(m, nobody{}, l)
		resp, err := run.serve(ctx, in, routed(pattern, next))
		if errors.Is(err, errNotKept) {
			err = fmt.Errorf("%w: %d", err, run.status)
		}
		return resp, err
	}
}

// routed is next behind the pattern that the request came by, so that it finds its path values.
func routed(pattern string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if mux := muxFor(pattern, next); mux != nil {
			if _, matched := mux.Handler(r); matched != "" {
				mux.ServeHTTP(w, r)
				return
			}
		}
		r.Pattern = pattern // of a router that is not net/http's
		next.ServeHTTP(w, r)
	})
}

// muxFor is nil for a pattern that ServeMux does not take.
func muxFor(pattern string, next http.Handler) (mux *http.ServeMux) {
	defer func() {
		if recover() != nil {
			mux = nil
		}
	}()
	mux = http.NewServeMux()
	mux.Handle(pattern, next)
	return mux
}

// nobody is a client that is not there.
type nobody struct{}

func (nobody) Header() http.Header         { return make(http.Header) }
func (nobody) Write(b []byte) (int, error) { return len(b), nil }
func (nobody) WriteHeader(int)             {}
