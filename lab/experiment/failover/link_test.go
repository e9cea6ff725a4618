package failover

import (
	"io"
	"net"
	"os"
	"testing"
	"time"
)

// joined is a link to an echo, and a connection through it.
func joined(t *testing.T) (*link, net.Conn) {
	t.Helper()
	echo, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = echo.Close() })
	go func() {
		for {
			conn, err := echo.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.Copy(conn, conn)
				_ = conn.Close()
			}()
		}
	}()
	l, err := newLink(echo.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.close)
	conn, err := net.Dial("tcp", l.address())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return l, conn
}

func say(t *testing.T, conn net.Conn, text string) {
	t.Helper()
	if _, err := conn.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
}

func TestLinkPassesOnUntilItIsParted(t *testing.T) {
	t.Parallel()
	l, conn := joined(t)
	text := make([]byte, 5)
	say(t, conn, "hello")
	if _, err := io.ReadFull(conn, text); err != nil || string(text) != "hello" {
		t.Fatalf("the echo says %q, %v", text, err)
	}
	l.part()
	say(t, conn, "lost")
	if err := conn.SetReadDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if n, err := conn.Read(text); n > 0 || !os.IsTimeout(err) {
		t.Errorf("over a parted link come %q, %v; want nothing, and no end", text[:n], err)
	}
}

func TestLinkThatIsClosedEndsItsConnections(t *testing.T) {
	t.Parallel()
	for _, parted := range []bool{false, true} {
		l, conn := joined(t)
		say(t, conn, "hello")
		if _, err := io.ReadFull(conn, make([]byte, 5)); err != nil {
			t.Fatal(err)
		}
		if parted {
			l.part()
		}
		l.close()
		if _, err := conn.Read(make([]byte, 1)); err == nil {
			t.Error("a connection outlives its link")
		}
		if conn, err := net.Dial("tcp", l.address()); err == nil {
			_ = conn.Close()
			t.Error("a closed link takes a connection")
		}
	}
}

func TestLinkPassesOnTheEndOfAConnection(t *testing.T) {
	t.Parallel()
	_, conn := joined(t)
	say(t, conn, "bye")
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(conn); err != nil && len(text) > 3 {
		t.Errorf("read %q, %v", text, err)
	}
}
