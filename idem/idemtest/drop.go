package idemtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"testing"
	"time"
)

// Drop sends r to h over a TCP connection and hangs up at a point, as a customer does who loses the network. It returns when h
// has ended. h is all of what is served, as in Storm; of r's URL scheme and host do not count. t fails where the point is never
// reached.
//
//	idemtest.Drop(t, mux, newCharge(key), idemtest.AfterRequest)
func Drop(t testing.TB, h http.Handler, r *http.Request, at Point) {
	t.Helper()
	if err := drop(t.Context(), h, r, at); err != nil {
		t.Fatalf("idemtest: drop: %v", err)
	}
}

// dropPatience is how long Drop waits for anything.
const dropPatience = 10 * time.Second

func drop(ctx context.Context, h http.Handler, r *http.Request, at Point) error {
	ctx, cancel := context.WithTimeoutCause(ctx, dropPatience, fmt.Errorf("not within %v", dropPatience))
	defer cancel()
	v := newVisit(at)
	server, err := serve(v.watch(h), smallBuffers)
	if err != nil {
		return err
	}
	defer server.stop(dropPatience)
	text, err := upTo(at, r, server.address)
	if err != nil {
		return err
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", server.address)
	if err != nil {
		return err
	}
	v.conn = conn.(*net.TCPConn)
	defer v.cut()
	if err := v.reach(ctx, text); err != nil {
		return err
	}
	v.cut()
	if err := await(ctx, v.ended); err != nil {
		return fmt.Errorf("the handler did not end after its client was gone: %w", err)
	}
	return nil
}

// upTo is what is sent of r, as it goes over the wire.
func upTo(at Point, r *http.Request, address string) ([]byte, error) {
	o, err := newOriginal(r, &url.URL{Scheme: "http", Host: address})
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	if err := o.copy(context.Background()).Write(&text); err != nil {
		return nil, err
	}
	header := text.Len() - len(o.body)
	switch {
	case at == AfterHeaders:
		text.Truncate(header)
	case at == HalfBody && len(o.body) < 2:
		return nil, errors.New("the request has no body to send half of")
	case at == HalfBody:
		text.Truncate(header + len(o.body)/2)
	}
	return text.Bytes(), nil
}

// smallBuffers keeps the system from taking a whole answer off the handler's hands.
func smallBuffers(s *http.Server) {
	s.ConnContext = func(ctx context.Context, conn net.Conn) context.Context {
		_ = conn.(*net.TCPConn).SetWriteBuffer(bufferSize)
		return ctx
	}
}

const bufferSize = 4 << 10 // bytes; the system may make it more

func await(ctx context.Context, event <-chan struct{}) error {
	select {
	case <-event:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
