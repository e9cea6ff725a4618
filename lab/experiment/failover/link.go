package failover

import (
	"net"
	"sync"
)

// link is the way on which a replica reaches its primary. Once it is parted nothing arrives, and nobody is told: what is sent is
// swallowed, and connections neither end nor answer.
type link struct {
	to       string // HOST:PORT of the primary
	listener net.Listener
	pumps    sync.WaitGroup

	way    sync.RWMutex // held for reading while something is passed on
	parted bool

	mu   sync.Mutex
	ends []net.Conn // of every connection; nil once the link is closed
}

// newLink opens a link to a server.
func newLink(to string) (*link, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	l := &link{to: to, listener: listener, ends: []net.Conn{}}
	l.pumps.Go(l.accept)
	return l, nil
}

// address is where the replica finds the link.
func (l *link) address() string { return l.listener.Addr().String() }

// part parts the link for good. What was passed on before may still be read, nothing else is.
func (l *link) part() {
	l.way.Lock()
	defer l.way.Unlock()
	l.parted = true
}

// close ends the link and every connection.
func (l *link) close() {
	_ = l.listener.Close()
	l.mu.Lock()
	for _, end := range l.ends {
		_ = end.Close()
	}
	l.ends = nil
	l.mu.Unlock()
	l.pumps.Wait()
}

func (l *link) accept() {
	for {
		replica, err := l.listener.Accept()
		if err != nil {
			return
		}
		primary, err := net.Dial("tcp", l.to)
		if err != nil {
			_ = replica.Close()
			continue
		}
		if l.keep(replica, primary) {
			l.pumps.Go(func() { l.pump(primary, replica) })
			l.pumps.Go(func() { l.pump(replica, primary) })
		}
	}
}

// keep notes the ends of a new connection, or closes them where the link is closed.
func (l *link) keep(ends ...net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ends == nil {
		for _, end := range ends {
			_ = end.Close()
		}
		return false
	}
	l.ends = append(l.ends, ends...)
	return true
}

// pump passes on what comes from one end, its end included, unless the link is parted.
func (l *link) pump(from, to net.Conn) {
	text := make([]byte, 64<<10)
	for {
		n, err := from.Read(text)
		if !l.pass(to, text[:n], err) {
			return
		}
	}
}

// pass reports whether there may be more to pass on.
func (l *link) pass(to net.Conn, text []byte, end error) bool {
	l.way.RLock()
	defer l.way.RUnlock()
	if l.parted {
		return end == nil
	}
	if _, err := to.Write(text); err == nil && end == nil {
		return true
	}
	_ = to.Close()
	return false
}
