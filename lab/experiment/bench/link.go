package bench

import (
	"context"
	"io"
	"net"
	"sync"
	"time"

	"github.com/Shopify/toxiproxy/v2/stream"
	"github.com/Shopify/toxiproxy/v2/toxics"
)

// link is a proxy on loopback through which everything reaches its server so much later; answers come back at once. What is sent
// together arrives together, so a round trip takes so much longer, and a pipeline of many statements no more than that.
type link struct {
	delay    time.Duration // whole milliseconds
	listener net.Listener
	network  string
	server   string

	mu    sync.Mutex
	ends  []net.Conn
	pumps sync.WaitGroup
}

func newLink(delay time.Duration) (*link, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	l := &link{delay: delay, listener: listener}
	l.pumps.Go(l.accept)
	return l, nil
}

// dial opens a connection to a server, always the same, by way of the proxy.
func (l *link) dial(ctx context.Context, network, address string) (net.Conn, error) {
	l.mu.Lock()
	l.network, l.server = network, address
	l.mu.Unlock()
	return new(net.Dialer).DialContext(ctx, "tcp", l.listener.Addr().String())
}

func (l *link) close() {
	_ = l.listener.Close()
	l.mu.Lock()
	for _, end := range l.ends {
		_ = end.Close()
	}
	l.mu.Unlock()
	l.pumps.Wait()
}

func (l *link) accept() {
	for {
		client, err := l.listener.Accept()
		if err != nil {
			return
		}
		l.mu.Lock()
		server, err := net.Dial(l.network, l.server)
		if err == nil {
			l.ends = append(l.ends, client, server)
			l.pumps.Go(func() { l.up(client, server) })
			l.pumps.Go(func() { l.down(client, server) })
		} else {
			_ = client.Close()
		}
		l.mu.Unlock()
	}
}

// up forwards what the client sends, late.
func (l *link) up(client, server net.Conn) {
	late := &toxics.LatencyToxic{Latency: l.delay.Milliseconds()}
	sent, arrived := make(chan *stream.StreamChunk, late.GetBufferSize()), make(chan *stream.StreamChunk)
	stub := toxics.NewToxicStub(sent, arrived)
	l.pumps.Go(func() { late.Pipe(stub) })
	l.pumps.Go(func() {
		to := stream.NewChanWriter(sent)
		_, _ = io.Copy(to, client) // ends with the connection
		_ = to.Close()
	})
	_, _ = io.Copy(server, stream.NewChanReader(arrived))
	_ = server.Close()
	for range arrived { // so that what is still on its way is not waited for
	}
}

func (l *link) down(client, server net.Conn) {
	_, _ = io.Copy(client, server)
	_ = client.Close()
}
