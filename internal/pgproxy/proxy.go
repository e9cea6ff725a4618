// Package pgproxy is a proxy between a client and PostgreSQL that tests use to lose what a network loses: the COMMIT, its
// answer, or the time until it comes.
package pgproxy

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Fault is what becomes of one COMMIT.
type Fault int

const (
	Pass        Fault = iota // nothing
	CutBefore                // the connection ends before the server sees the COMMIT
	DropAnswer               // the server gets it; its answer is swallowed and the client's connection ends
	DelayAnswer              // the server gets it; its answer comes after Proxy.Delay
)

// Proxy forwards connections to one server, message by message. Clients must not use TLS, and must send their statements as text
// (query mode exec or simple_protocol), for it knows a COMMIT by its text.
type Proxy struct {
	// OnCommit decides the fate of each COMMIT; nil passes all. Set it before the first connection.
	OnCommit func() Fault
	Delay    time.Duration

	listener net.Listener
	server   string
	silent   atomic.Bool
	sent     flow
	answers  flow
	mu       sync.Mutex
	links    map[*link]bool
	pumps    sync.WaitGroup
}

// Start runs a proxy on loopback until the test ends. It returns the connection string that leads through it.
func Start(t testing.TB, p *Proxy, target string) (through string) {
	t.Helper()
	u, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	if p.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	p.server, u.Host = u.Host, p.listener.Addr().String()
	p.links = make(map[*link]bool)
	p.pumps.Go(p.accept)
	t.Cleanup(func() {
		_ = p.listener.Close()
		p.Stall(false)
		p.Cut()
		p.pumps.Wait()
	})
	return u.String()
}

// Cut ends every connection that stands.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.cut()
	}
}

// Partition makes the proxy swallow everything in both directions, on old and new connections, without ending any.
func (p *Proxy) Partition(on bool) { p.silent.Store(on) }

// Stall makes the proxy hold back everything in both directions, on old and new connections, the end of one included; when it is
// over all of it arrives. So does what TCP sends again after a partition that its connections outlive.
func (p *Proxy) Stall(on bool) {
	p.sent.stall(on)
	p.answers.stall(on)
}

// StallAnswers is Stall for what the server sends: it goes on doing what it is told.
func (p *Proxy) StallAnswers(on bool) { p.answers.stall(on) }

// flow is one direction of all connections.
type flow struct {
	stalled atomic.Pointer[chan struct{}] // closed when the stall ends; nil: none
}

func (f *flow) stall(on bool) {
	var stalled *chan struct{}
	if on {
		c := make(chan struct{})
		stalled = &c
	}
	if before := f.stalled.Swap(stalled); before != nil {
		close(*before)
	}
}

// pass returns when nothing is held back.
func (f *flow) pass() {
	for c := f.stalled.Load(); c != nil; c = f.stalled.Load() {
		<-*c
	}
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.server)
		if err != nil {
			_ = client.Close()
			continue
		}
		l := &link{proxy: p, client: client, server: server}
		p.mu.Lock()
		p.links[l] = true
		p.mu.Unlock()
		p.pumps.Go(l.upstream)
		p.pumps.Go(l.downstream)
	}
}

// link is one client's connection.
type link struct {
	proxy          *Proxy
	client, server net.Conn
	swallow        atomic.Bool  // answers go nowhere, and end the connection
	hold           atomic.Int64 // answers wait until this time, Unix nanoseconds
}

func (l *link) cut() {
	_ = l.client.Close()
	_ = l.server.Close()
}

// gone ends the link and forgets it.
func (l *link) gone() {
	l.cut()
	l.proxy.mu.Lock()
	defer l.proxy.mu.Unlock()
	delete(l.proxy.links, l)
}

// upstream forwards what the client sends, looking for COMMIT.
func (l *link) upstream() {
	defer l.gone()
	for typed := false; ; typed = true { // the start-up message has no type
		message, err := readMessage(l.client, typed)
		l.proxy.sent.pass()
		if err != nil {
			return
		}
		if l.proxy.silent.Load() {
			continue
		}
		if isCommit(message) && l.proxy.OnCommit != nil {
			switch l.proxy.OnCommit() {
			case CutBefore:
				return
			case DropAnswer:
				l.swallow.Store(true)
			case DelayAnswer:
				l.hold.Store(time.Now().Add(l.proxy.Delay).UnixNano())
			}
		}
		if _, err := l.server.Write(message); err != nil {
			return
		}
	}
}

// downstream forwards what the server answers.
func (l *link) downstream() {
	defer l.gone()
	for {
		message, err := readMessage(l.server, true)
		l.proxy.answers.pass()
		if err != nil {
			return
		}
		if l.swallow.Load() {
			if message[0] == 'Z' { // ready: the server has answered all of it
				return
			}
			continue
		}
		if until := l.hold.Load(); until != 0 {
			time.Sleep(time.Until(time.Unix(0, until)))
		}
		if l.proxy.silent.Load() {
			continue
		}
		if _, err := l.client.Write(message); err != nil {
			return
		}
	}
}

// readMessage reads one whole message, header and all.
func readMessage(from io.Reader, typed bool) ([]byte, error) {
	head := 4
	if typed {
		head = 5
	}
	message := make([]byte, head)
	if _, err := io.ReadFull(from, message); err != nil {
		return nil, err
	}
	length := int(binary.BigEndian.Uint32(message[head-4:])) - 4
	message = append(message, make([]byte, length)...)
	_, err := io.ReadFull(from, message[head:])
	return message, err
}

// isCommit reports whether a message is a Query or Parse of COMMIT.
func isCommit(message []byte) bool {
	return (message[0] == 'Q' || message[0] == 'P') && bytes.Contains(bytes.ToUpper(message), []byte("COMMIT\x00")) ||
		message[0] == 'Q' && bytes.Contains(message, []byte("COMMIT"))
}
