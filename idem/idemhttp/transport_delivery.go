package idemhttp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// A delivery is one logical request on its way.
type delivery struct {
	rules Transport       // with its defaults
	ctx   context.Context // the caller's
	sent  *http.Request   // the caller's request with the key; each try sends a copy
	key   string
	body  *requestBody
	tries int // so far
}

// newDelivery settles the key and the body. The body is closed if it fails; a delivery comes with the error all the same.
func (t *Transport) newDelivery(r *http.Request) (d *delivery, err error) {
	d = &delivery{ctx: r.Context(), body: &requestBody{first: r.Body}}
	if d.rules, err = t.withDefaults(); err == nil {
		d.key, err = keyOf(r, d.rules.Header)
	}
	if err != nil {
		d.body.close()
		return d, err
	}
	if d.body, err = newRequestBody(r); err != nil {
		return d, err
	}
	d.sent = r.WithContext(d.ctx)
	d.sent.Header = withKey(r.Header, d.rules.Header, d.key)
	if d.body.again != nil {
		d.sent.GetBody = d.body.reopen
	} else {
		d.rules.Tries = 1
	}
	return d, nil
}

// mayTry is asked before every try.
func (d *delivery) mayTry() error {
	if d.ctx.Err() != nil {
		return context.Cause(d.ctx)
	}
	return checkAge(d.ctx, d.key, d.rules.MaxAge)
}

// try sends the request once. The answer's Request is the logical one, where the caller, and the next hop of a redirect, find
// the key.
func (d *delivery) try() (*http.Response, error) {
	body, err := d.body.open()
	if err != nil {
		return nil, err
	}
	ctx, cancel := tryContext(d.ctx, d.rules.TryTimeout)
	one := d.sent.WithContext(ctx)
	one.Header = d.sent.Header.Clone()
	one.Body = body
	d.tries++
	resp, err := d.rules.Base.RoundTrip(one)
	if err == nil && resp == nil {
		err = fmt.Errorf("%T returned neither an answer nor an error", d.rules.Base)
	}
	if err != nil {
		err = cmp.Or(d.body.failed(), tryError(ctx, err))
		cancel()
		return nil, err
	}
	resp.Request = d.sent
	switch {
	case resp.Body == nil:
		resp.Body = http.NoBody
		cancel()
	case d.rules.TryTimeout > 0:
		resp.Body = &timedBody{resp.Body, ctx, cancel}
	}
	return resp, nil
}

// next decides whether there is another try, and how long to wait for it.
func (d *delivery) next(resp *http.Response, err error) (wait time.Duration, again bool) {
	if d.tries >= d.rules.Tries || d.ctx.Err() != nil || d.body.failed() != nil || !d.rules.Retry(resp, err) {
		return 0, false
	}
	wait = backoff(d.tries, d.rules.MinBackoff, d.rules.MaxBackoff)
	if resp != nil {
		asked := retryAfter(resp.Header)
		if asked > d.rules.MaxRetryAfter {
			return 0, false
		}
		wait = max(wait, asked)
	}
	if deadline, ok := d.ctx.Deadline(); ok && !time.Now().Add(wait).Before(deadline) {
		return 0, false
	}
	return wait, true
}

var errCancelled = errors.New("the request was cancelled")

// pause waits, and says why it did not wait to the end. resp and err are what the last try gave.
func (d *delivery) pause(wait time.Duration, resp *http.Response, err error) error {
	if err == nil {
		err = fmt.Errorf("the answer was %d", resp.StatusCode)
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-d.ctx.Done():
		return fmt.Errorf("%w, waiting to try again after: %w", context.Cause(d.ctx), err)
	case <-d.sent.Cancel: //lint:ignore SA1019 http.Client with a Timeout sets it, and so may a caller
		return fmt.Errorf("%w, waiting to try again after: %w", errCancelled, err)
	}
}

func (d *delivery) failure(err error) error {
	return &TransportError{Key: d.key, Tries: d.tries, Err: err}
}

// discardLimit is how much of an unwanted answer is read so that its connection can be used again; more costs more than a new
// connection.
const discardLimit = 64 << 10

func discard(resp *http.Response) {
	if resp == nil {
		return
	}
	if resp.ContentLength <= discardLimit {
		_, _ = io.CopyN(io.Discard, resp.Body, discardLimit)
	}
	resp.Body.Close()
}
