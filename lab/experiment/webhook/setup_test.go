package webhook

import (
	"context"
	"os"
	"os/exec"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/internal/testdb"
	"github.com/pgidem/pgidem/lab/workbench"
)

// asHolder makes the test binary the process that the experiment kills.
const asHolder = "WEBHOOK_TEST_AS_HOLDER"

func TestMain(m *testing.M) {
	if os.Getenv(asHolder) == "" {
		os.Exit(m.Run())
	}
	if err := Holder(context.Background(), os.Stdin, os.Stdout); err != nil {
		_, _ = os.Stderr.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
	os.Exit(0)
}

func self(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Env = append(os.Environ(), asHolder+"=1")
	return cmd
}

// bundle is a database with the product's schema, and a bench.
type bundle struct {
	pool  *pgxpool.Pool
	bench *workbench.Bench
}

func setup(t *testing.T) *bundle {
	t.Helper()
	pool := testdb.New(t, func(c *pgxpool.Config) { c.MaxConns = 60 })
	return &bundle{pool: pool, bench: &workbench.Bench{Self: self}}
}
