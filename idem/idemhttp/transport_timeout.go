package idemhttp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// tryTimeoutError is the end of one try by TryTimeout. It is not context.DeadlineExceeded: the caller's context has not ended.
type tryTimeoutError struct{ after time.Duration }

func (e *tryTimeoutError) Error() string {
	return fmt.Sprintf("the try took longer than Transport.TryTimeout (%v)", e.after)
}

func (e *tryTimeoutError) Timeout() bool { return true }

// tryContext is ctx for one try of at most the given length; 0 is no limit.
func tryContext(ctx context.Context, most time.Duration) (context.Context, context.CancelFunc) {
	if most == 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, most, &tryTimeoutError{most})
}

// tryError is why a try under ctx failed: the end of ctx in its own words, if it has ended, else err.
func tryError(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	if cause == nil || errors.Is(err, cause) {
		return err
	}
	return cause
}

// timedBody is the body of an answer while TryTimeout runs, which ends with the body.
type timedBody struct {
	io.ReadCloser
	ctx    context.Context
	cancel context.CancelFunc
}

func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		if err != io.EOF {
			err = tryError(b.ctx, err)
		}
		b.cancel()
	}
	return n, err
}

func (b *timedBody) Close() error {
	defer b.cancel()
	return b.ReadCloser.Close()
}
