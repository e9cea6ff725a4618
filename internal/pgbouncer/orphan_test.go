package pgbouncer_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pgidem/pgidem/internal/pgbouncer"
	"github.com/pgidem/pgidem/internal/testdb"
)

const childServer = "PGBOUNCER_TEST_CHILD"

// TestChild is the process that the next test kills.
func TestChild(t *testing.T) {
	server := os.Getenv(childServer)
	if server == "" {
		t.Skip("only acts in a child process")
	}
	url, _ := pgbouncer.Start(t, server, pgbouncer.Options{})
	fmt.Println("url", url)
	select {}
}

func TestPgBouncerDoesNotOutliveItsProcess(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(os.Args[0], "-test.run=^TestChild$")
	cmd.Env = append(os.Environ(), childServer+"="+testdb.Empty(t))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	var url string
	if _, err := fmt.Fscanf(out, "url %s\n", &url); err != nil {
		t.Fatal(err)
	}
	connect(t, url)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	deadline := time.Now().Add(time.Minute)
	for {
		conn, err := pgx.Connect(t.Context(), url)
		if err == nil {
			conn.Close(t.Context())
		} else if strings.Contains(err.Error(), "refused") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("a minute after its process was killed the port does not refuse: %v", err)
		}
	}
}
