package redis_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/pgidem/pgidem/lab/redis"
)

// childOf makes the test binary a process that starts a server and lives until it is killed.
const childOf = "REDIS_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childOf) == "" {
		os.Exit(m.Run())
	}
	s, err := redis.Start(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(s.Address)
	select {}
}

func TestServerIsItsOwnersAlone(t *testing.T) {
	t.Parallel()
	s, err := redis.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	client := s.Client()
	defer client.Close()
	if set, err := client.SetNX(t.Context(), "k", "pending", time.Minute).Result(); err != nil || !set {
		t.Errorf("the first SET NX: %t, %v", set, err)
	}
	if set, err := client.SetNX(t.Context(), "k", "pending", time.Minute).Result(); err != nil || set {
		t.Errorf("the second SET NX: %t, %v", set, err)
	}
	if !strings.Contains(s.Version, ".") {
		t.Errorf("version %q", s.Version)
	}
	stranger := *s
	stranger.Password = ""
	other := stranger.Client()
	defer other.Close()
	if err := other.Ping(t.Context()).Err(); err == nil {
		t.Error("it answers whoever comes")
	}
	s.Close()
	gone(t, s.Address)
}

func TestServerDoesNotOutliveItsProcess(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(os.Args[0])
	cmd.Env, cmd.Stderr = append(os.Environ(), childOf+"=1"), os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	address := strings.TrimSpace(line)
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	gone(t, address)
}

// gone returns once nobody listens there.
func gone(t *testing.T, address string) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			return
		}
		conn.Close()
		if time.Now().After(deadline) {
			t.Fatal("it lives on")
		}
	}
}
