package bench

import (
	"context"
	"io"
	"net"
	"testing"
	"time"
)

// sends is messages of PostgreSQL's protocol as they leave a client, whose bytes are cut in pieces of n.
func sends(t *testing.T, w *wire, n int, messages ...[]byte) {
	t.Helper()
	client, server := net.Pipe()
	go func() { _, _ = io.Copy(io.Discard, server) }()
	conn := &wiredConn{Conn: client, wire: w}
	var all []byte
	for _, m := range messages {
		all = append(all, m...)
	}
	for len(all) > 0 {
		piece := all[:min(n, len(all))]
		if _, err := conn.Write(piece); err != nil {
			t.Fatal(err)
		}
		all = all[len(piece):]
	}
	_ = client.Close()
}

func TestWireCountsMessagesHoweverTheyAreCut(t *testing.T) {
	startup := []byte{0, 0, 0, 8, 0, 3, 0, 0}
	parse := []byte{'P', 0, 0, 0, 6, 'S', 'S'} // whose text is no message
	sync := []byte{'S', 0, 0, 0, 4}
	query := []byte{'Q', 0, 0, 0, 5, 0}
	for n := 1; n < 30; n++ {
		w := new(wire)
		sends(t, w, n, startup, parse, sync, query)
		if messages, trips, bytes := w.messages.Load(), w.trips.Load(), w.bytes.Load(); messages != 3 || trips != 2 || bytes != 26 {
			t.Errorf("in pieces of %d: %d messages, %d round trips, %d bytes; want 3, 2, 26", n, messages, trips, bytes)
		}
	}
}

func TestLinkLetsEverythingArriveLaterAndEndsWithBothSides(t *testing.T) {
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	go func() {
		for {
			conn, err := server.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(conn, conn); _ = conn.Close() }()
		}
	}()
	l, err := newLink(30 * time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := l.dial(context.Background(), "tcp", server.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	echo := make([]byte, 5)
	for range 2 {
		began := time.Now()
		if _, err := conn.Write([]byte("hello")); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(conn, echo); err != nil || string(echo) != "hello" {
			t.Fatalf("%q, %v", echo, err)
		}
		if took := time.Since(began); took < 30*time.Millisecond {
			t.Errorf("an echo took %s, want 30 ms", took)
		}
	}
	l.close() // also ends what still stands
	if _, err := conn.Read(echo); err == nil {
		t.Error("the connection outlives its link")
	}
}
