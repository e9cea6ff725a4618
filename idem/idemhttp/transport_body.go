package idemhttp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
)

// replayLimit is the size up to which a body that can be read only once is kept in memory, to be sent again. 1 MiB is also what
// Middleware takes unless told otherwise.
const replayLimit = 1 << 20

var errBodyLength = errors.New("the request's body has another length than its ContentLength")

// requestBody yields the same bytes for every try.
type requestBody struct {
	first   io.ReadCloser                 // the caller's, until it is handed over; nil: there is none, or it is in memory
	again   func() (io.ReadCloser, error) // nil: the body can be sent only once
	length  int64                         // that is promised; not above 0: none is
	failure atomic.Pointer[error]         // of reading or reopening it: a further try would fail too
}

// newRequestBody reads a body that has no GetBody into memory. It is closed if that fails.
func newRequestBody(r *http.Request) (*requestBody, error) {
	switch {
	case r.Body == nil || r.Body == http.NoBody:
		return &requestBody{again: func() (io.ReadCloser, error) { return r.Body, nil }}, nil
	case r.GetBody != nil:
		return &requestBody{first: r.Body, again: r.GetBody, length: r.ContentLength}, nil
	case r.ContentLength > replayLimit:
		return &requestBody{first: r.Body, length: r.ContentLength}, nil
	}
	// Closing is what makes a blocked Read return when the caller gives up.
	closeBody := sync.OnceFunc(func() { r.Body.Close() })
	stop := context.AfterFunc(r.Context(), closeBody)
	defer stop()
	read, err := io.ReadAll(io.LimitReader(r.Body, replayLimit+1))
	switch {
	case r.Context().Err() != nil:
		err = context.Cause(r.Context())
	case err != nil:
		err = fmt.Errorf("read the request's body: %w", err)
	case r.ContentLength > 0 && int64(len(read)) != r.ContentLength:
		err = errBodyLength
	case len(read) > replayLimit:
		return &requestBody{first: struct {
			io.Reader
			io.Closer
		}{io.MultiReader(bytes.NewReader(read), r.Body), r.Body}}, nil
	}
	closeBody()
	if err != nil {
		return nil, err
	}
	return &requestBody{again: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(read)), nil }}, nil
}

// open returns the body for one more try. Base closes it.
func (b *requestBody) open() (io.ReadCloser, error) {
	if first := b.first; first != nil {
		b.first = nil
		return &watchedBody{ReadCloser: first, of: b}, nil
	}
	return b.reopen()
}

// reopen is what net/http's own retries call: http.Request.GetBody.
func (b *requestBody) reopen() (io.ReadCloser, error) {
	if b.again == nil {
		return nil, errors.New("the body can be sent only once")
	}
	body, err := b.again()
	if err != nil {
		return nil, b.fail(fmt.Errorf("reopen the request's body: %w", err))
	}
	if body == nil || body == http.NoBody {
		return body, nil
	}
	return &watchedBody{ReadCloser: body, of: b}, nil
}

// fail remembers the first failure.
func (b *requestBody) fail(err error) error {
	b.failure.CompareAndSwap(nil, &err)
	return err
}

func (b *requestBody) failed() error {
	if err := b.failure.Load(); err != nil {
		return *err
	}
	return nil
}

// close closes a body that no try has taken.
func (b *requestBody) close() {
	if b.first != nil {
		b.first.Close()
		b.first = nil
	}
}

// watchedBody notices a reader that fails, or ends elsewhere than promised: net/http reports that now in these words, now in
// those. Base may close the body under a Read, which is no failure of the reader.
type watchedBody struct {
	io.ReadCloser
	of     *requestBody
	read   int64
	closed atomic.Bool
}

func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.read += int64(n)
	switch {
	case b.closed.Load():
	case err != nil && err != io.EOF:
		b.of.fail(fmt.Errorf("read the request's body: %w", err))
	case b.of.length > 0 && (b.read > b.of.length || err == io.EOF && b.read != b.of.length):
		b.of.fail(errBodyLength)
	}
	return n, err
}

func (b *watchedBody) Close() error {
	b.closed.Store(true)
	return b.ReadCloser.Close()
}
