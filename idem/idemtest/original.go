package idemtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/pgidem/pgidem/idem/idemhttp"
)

// original is a request read whole, from which equal ones are made.
type original struct {
	request *http.Request
	body    []byte
}

// newOriginal reads what a user made, for the server at base.
func newOriginal(r *http.Request, base *url.URL) (*original, error) {
	if r == nil {
		return nil, errors.New("there is no request")
	}
	o := &original{request: r.Clone(context.Background())}
	if r.Body != nil {
		body, err := io.ReadAll(r.Body)
		r.Body.Close()
		if err != nil {
			return nil, fmt.Errorf("the body of the request: %w", err)
		}
		o.body = body
	}
	o.request.URL.Scheme, o.request.URL.Host = base.Scheme, base.Host
	o.request.RequestURI = "" // httptest.NewRequest sets it; a client must not
	o.request.GetBody = nil   // with it net/http may send a request twice by itself, which nobody could count
	o.request.ContentLength = int64(len(o.body))
	o.request.TransferEncoding = nil
	return o, nil
}

// copy is one more of the same.
func (o *original) copy(ctx context.Context) *http.Request {
	c := o.request.Clone(ctx)
	c.Body = http.NoBody
	if len(o.body) > 0 {
		c.Body = io.NopCloser(bytes.NewReader(o.body))
	}
	return c
}

// plainRequest is the request of a Storm that has none of its own.
func plainRequest(key string) *http.Request {
	r, err := http.NewRequest(http.MethodPost, "/", bytes.NewReader([]byte("{}")))
	if err != nil {
		panic(err) // never: all of it is constant
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set(idemhttp.HeaderKey, key)
	return r
}
