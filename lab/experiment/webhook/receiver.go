package webhook

import (
	"context"
	"encoding/json"
	"net"
	"net/http"

	"github.com/jackc/pgx/v5"
)

// Receiver is one way to take the deliveries of events. It is used by many goroutines at once.
type Receiver interface {
	// Receive handles one delivery, and returns the status that the provider is answered with. An error is answered 500.
	Receive(ctx context.Context, e Event) (status int, err error)
}

// Work is what an event brings about: rows, written through tx.
type Work func(ctx context.Context, tx pgx.Tx, e Event) error

// endpoint is a receiver that listens.
type endpoint struct {
	url    string
	server *http.Server
}

// listen serves r on a free port of 127.0.0.1.
func listen(r Receiver) (*endpoint, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	e := &endpoint{url: "http://" + listener.Addr().String(), server: &http.Server{Handler: handler(r)}}
	go func() { _ = e.server.Serve(listener) }() // ends with close
	return e, nil
}

func (e *endpoint) close() { _ = e.server.Close() }

func handler(r Receiver) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		var e Event
		if err := json.NewDecoder(q.Body).Decode(&e); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		status, err := r.Receive(q.Context(), e)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.WriteHeader(status)
	})
}
