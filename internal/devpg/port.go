package devpg

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// Ports below the range from which Linux (32768) and macOS (49152) take the
// ports of outgoing connections: one of those could sit on the server's port
// while it restarts.
const (
	firstPort = 20000
	endOfPort = 32000
)

// freePort returns a port of 127.0.0.1 on which nobody listened a moment ago.
func freePort() (int, error) {
	var err error
	for range 100 {
		port := firstPort + rand.IntN(endOfPort-firstPort)
		var l net.Listener
		l, err = net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err == nil {
			return port, l.Close()
		}
	}
	return 0, fmt.Errorf("devpg: no free port on 127.0.0.1: %w", err)
}
