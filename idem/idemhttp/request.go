package idemhttp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/pgidem/pgidem/idem"
)

// request is what the middleware knows of a request once it may go on.
type request struct {
	*http.Request
	key   idem.Key
	plain bool   // it has no key, and may run without
	body  []byte // all of it; nil where plain and not read
}

// refusal is a request that the middleware answers before any work.
type refusal struct {
	problem Problem
	err     error // for the log; nil: the client's own fault
}

func (r *refusal) Error() string { return r.problem.Title }

// read checks a request and reads its body: first what costs nothing, so that a bad key does not make the client send its body.
func (m *Middleware) read(r *http.Request) (*request, error) {
	in := &request{Request: r}
	if isSafe(r.Method) {
		in.plain = true
		return in, nil
	}
	tenant, err := m.tenant(r)
	if err != nil {
		return nil, err
	}
	in.key.Tenant = tenant
	if in.key.Endpoint, err = m.endpoint(r); err != nil {
		return nil, err
	}
	if m.Key == nil {
		if err := m.identify(in, func() (string, error) { return ParseKey(r.Header.Values(m.header())) }); err != nil || in.plain {
			return in, err
		}
	}
	if in.body, err = m.readBody(r); err != nil {
		return nil, err
	}
	in.Request = r.WithContext(r.Context()) // a copy: the caller's is not ours to change
	in.rewind()
	if m.Key != nil {
		if err := m.identify(in, func() (string, error) { return m.keyOf(r, in.body) }); err != nil || in.plain {
			return in, err
		}
	}
	if m.Store.Policy.Handler != "" {
		in.key.Request = in.storedRequest()
	}
	in.key.Fingerprint, err = m.fingerprint(in, 0)
	return in, err
}

func (m *Middleware) header() string {
	if m.Header != "" {
		return m.Header
	}
	return HeaderKey
}

// identify takes the key that find finds, or notes that the request may run without one.
func (m *Middleware) identify(in *request, find func() (string, error)) (err error) {
	in.key.ID, err = find()
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrMissingKey) && m.Optional:
		in.plain = true
		return nil
	case errors.Is(err, ErrMissingKey):
		where := "the header " + m.header() + " carries it"
		if m.Key != nil {
			where = "see the documentation of this request"
		}
		return &refusal{problem: missingKey.saying("Send a key of your own, and the same one when you send the request again: " + where + ".")}
	}
	return &refusal{problem: malformedKey.saying(err.Error() + ".")}
}

// keyOf asks Key.
func (m *Middleware) keyOf(r *http.Request, body []byte) (string, error) {
	key, err := m.Key(r, body)
	switch {
	case err != nil:
		return "", fmt.Errorf("%w: %w", ErrMalformedKey, err)
	case key == "":
		return "", ErrMissingKey
	}
	return key, checkKey(key)
}

func (m *Middleware) tenant(r *http.Request) (string, error) {
	if m.Store == nil {
		return "", misuse("Middleware.Store is nil")
	}
	if m.Tenant == nil {
		return "", misuse("Middleware.Tenant is nil: say whose request it is, or idemhttp.SingleTenant that all share one namespace")
	}
	tenant, err := m.Tenant(r)
	switch {
	case errors.Is(err, ErrUnauthenticated):
		return "", &refusal{problem: unauthenticated}
	case err != nil:
		return "", &refusal{problem: misconfigured.saying("It could not be found out whose request this is."), err: err}
	case tenant == "":
		return "", misuse("Middleware.Tenant returned no tenant")
	}
	return tenant, nil
}

func (m *Middleware) endpoint(r *http.Request) (string, error) {
	if m.Endpoint != nil {
		return m.Endpoint(r), nil
	}
	if r.Pattern == "" {
		return "", misuse("the request has no route pattern: put the middleware around the handler, not around the router, or set Middleware.Endpoint")
	}
	_, path, found := strings.Cut(r.Pattern, " ")
	if !found {
		path = r.Pattern
	}
	return r.Method + " " + strings.TrimLeft(path, " \t"), nil
}

// misuse is a fault of the program that uses the middleware. It is answered openly, for it holds nothing of anybody's.
func misuse(what string) error {
	return &refusal{problem: misconfigured.saying(what + "."), err: errors.New(what)}
}

func (m *Middleware) readBody(r *http.Request) ([]byte, error) {
	most := m.MaxBody
	if most == 0 {
		most = 1 << 20
	}
	tooLarge := &refusal{problem: bodyTooLarge.saying(fmt.Sprintf("At most %d bytes are taken.", most))}
	if r.Body == nil {
		return nil, nil
	}
	if r.ContentLength > most {
		return nil, tooLarge
	}
	var body bytes.Buffer
	if r.ContentLength > 0 {
		body.Grow(int(r.ContentLength) + bytes.MinRead) // one more read finds the end
	}
	_, err := body.ReadFrom(io.LimitReader(r.Body, most+1))
	var limit *http.MaxBytesError
	switch {
	case errors.As(err, &limit), int64(body.Len()) > most:
		return nil, tooLarge
	case err != nil:
		return nil, &refusal{problem: unreadableBody}
	case body.Len() == 0 && (r.ContentLength > 0 || len(r.PostForm) > 0 || r.MultipartForm != nil):
		// All forms would be one request, and get each other's answers.
		return nil, misuse("the body was read before the middleware, which has to compare it: call ParseForm and the like behind it")
	}
	return body.Bytes(), nil
}

// fingerprint is that of the request at a version; 0 is the present one.
func (m *Middleware) fingerprint(in *request, version byte) (idem.Fingerprint, error) {
	compute := m.Fingerprint
	if compute == nil {
		compute = RequestFingerprint
	}
	f, err := compute(in.Request, in.body, version)
	switch {
	case err != nil && version == 0:
		return "", &refusal{problem: misconfigured.saying("It could not be found out which request this is."), err: err}
	case err != nil:
		return "", &refusal{problem: unavailable.saying("The key was stored by another version of this service."), err: err}
	}
	return f, nil
}

// rewind gives the request its whole body back.
func (in *request) rewind() {
	in.Body = io.NopCloser(bytes.NewReader(in.body))
}

// forHandler is the request as the handler gets it, under the handler's context.
func (in *request) forHandler(ctx context.Context) *http.Request {
	ctx = context.WithValue(ctx, tenantContext{}, in.key.Tenant)
	if in.plain {
		return in.WithContext(ctx) // its body may not have been read
	}
	in.rewind()
	r := in.WithContext(ctx)
	r.Header = r.Header.Clone()
	r.Header.Del("Accept-Encoding")
	return r
}
