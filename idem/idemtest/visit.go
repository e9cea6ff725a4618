package idemtest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// visit is one dropped request, seen from both ends.
type visit struct {
	at    Point
	conn  *net.TCPConn  // the client's
	begun chan struct{} // the handler
	told  chan struct{} // HangUp was called
	ended chan struct{} // the handler
	gone  chan struct{} // the client
	cut   func()        // makes it so; more than once is fine
}

func newVisit(at Point) *visit {
	v := &visit{at: at, begun: make(chan struct{}), told: make(chan struct{}), ended: make(chan struct{}), gone: make(chan struct{})}
	v.cut = sync.OnceFunc(func() {
		if v.at == InAnswer {
			_ = v.conn.SetLinger(0) // reset
		}
		_ = v.conn.Close()
		close(v.gone)
	})
	return v
}

// watch is h, whose begin and end are seen and which can hang up.
func (v *visit) watch(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(v.begun)
		defer close(v.ended)
		hangUp := sync.OnceFunc(func() { v.hangUp(r.Context()) })
		h.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), visitContext{}, hangUp)))
	})
}

type visitContext struct{}

// HangUp is the point InHandler of a Drop: it closes the client's connection and returns when the server has noticed. ctx is the
// request's or comes from it, as that of a pgx.QueryTracer does. It does nothing a second time, nor in any other request.
func HangUp(ctx context.Context) {
	if hangUp, ok := ctx.Value(visitContext{}).(func()); ok {
		hangUp()
	}
}

// hangUp has the client leave; ctx is what net/http cancels then.
func (v *visit) hangUp(ctx context.Context) {
	if v.at != InHandler {
		return
	}
	close(v.told)
	<-v.gone
	ctx, cancel := context.WithTimeout(ctx, time.Second) // net/http looks only once the body is read to its end
	defer cancel()
	<-ctx.Done()
}

// reach sends text and returns at the point.
func (v *visit) reach(ctx context.Context, text []byte) error {
	_ = v.conn.SetReadBuffer(bufferSize)
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		_, _ = v.conn.Write(text) // what the server does not take, it had no use for
	}()
	switch v.at {
	case InHandler:
		select {
		case <-v.told:
			return nil
		case <-v.ended:
			return errors.New("the handler ended and HangUp was not called with the context of its request")
		case <-ctx.Done():
			return fmt.Errorf("HangUp was not called: %w", context.Cause(ctx))
		}
	case InAnswer:
		stop := context.AfterFunc(ctx, func() { _ = v.conn.SetReadDeadline(time.Now()) })
		defer stop()
		if _, err := v.conn.Read(make([]byte, 1)); err != nil {
			return fmt.Errorf("there was no answer: %w", err)
		}
		select {
		case <-v.begun:
			return nil
		default:
			return errors.New("net/http answered by itself, and the handler did not begin")
		}
	}
	if err := await(ctx, v.begun); err != nil {
		return fmt.Errorf("the handler did not begin: %w", err)
	}
	select {
	case <-sent:
	case <-v.ended: // without having read it all
	case <-ctx.Done():
		return fmt.Errorf("the handler does not read the request: %w", context.Cause(ctx))
	}
	return nil
}
