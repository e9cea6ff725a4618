package idemhttp_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"

	"github.com/pgidem/pgidem/idem/idemhttp"
)

// cards is a card processor that counts. It charges at every call, also at a repeated one, unless it refuses those.
type cards struct {
	*httptest.Server
	refuses bool               // a downstream key that was charged gets its first answer again
	decide  func(call int) int // the status of the n-th call, from 1; only 201 charges. nil: 201
	after   func(call int)     // is run when a call was decided and counted, before its answer leaves. nil: nothing

	mu      sync.Mutex
	keys    []string       // the downstream keys of all calls, in their order
	charges map[string]int // by downstream key
}

func (c *cards) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	key, status := r.Header.Get("Idempotency-Key"), http.StatusCreated
	c.mu.Lock()
	c.keys = append(c.keys, key)
	call := len(c.keys)
	if c.decide != nil {
		status = c.decide(call)
	}
	if status == http.StatusCreated && !(c.refuses && c.charges[key] > 0) {
		c.charges[key]++
	}
	c.mu.Unlock()
	if c.after != nil {
		c.after(call)
	}
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"charge":%q,"status":%d}`, key, status)
}

// seen are the downstream keys of all calls until now.
func (c *cards) seen() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.keys...)
}

// charged counts the charges, whatever their keys.
func (c *cards) charged() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, times := range c.charges {
		n += times
	}
	return n
}

// toCards sends each call on a connection of its own, so that net/http repeats none.
var toCards = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// callCards charges at the processor under the downstream key of r's lease.
func callCards(r *http.Request, processor string) (status int, body []byte, err error) {
	lease, ok := idemhttp.LeaseFrom(r.Context())
	if !ok {
		return 0, nil, fmt.Errorf("%s %s has no lease", r.Method, r.URL.Path)
	}
	out, err := http.NewRequestWithContext(r.Context(), http.MethodPost, processor, r.Body)
	if err != nil {
		return 0, nil, err
	}
	out.Header.Set("Idempotency-Key", lease.DownstreamKey("charge"))
	resp, err := toCards.Do(out)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	body, err = io.ReadAll(resp.Body)
	return resp.StatusCode, body, err
}

// payment is the handler of article 004: it charges, passes the processor's verdict on, and says when the call did nothing.
func payment(processor string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status, body, err := callCards(r, processor)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		if status == http.StatusServiceUnavailable {
			idemhttp.Transient(r.Context())
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = w.Write(body)
	})
}
