package crash

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/internal/testdb"
	"github.com/pgidem/pgidem/lab/design"
	"github.com/pgidem/pgidem/lab/payments"
	"github.com/pgidem/pgidem/lab/redis"
	"github.com/pgidem/pgidem/lab/workbench"
)

// asWorker makes the test binary the worker that the experiment kills.
const asWorker = "CRASH_TEST_AS_WORKER"

func TestMain(m *testing.M) {
	if os.Getenv(asWorker) == "" {
		os.Exit(m.Run())
	}
	if err := Worker(context.Background(), os.Stdin, os.Stdout); err != nil {
		_, _ = os.Stderr.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
	os.Exit(0)
}

func self(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Env = append(os.Environ(), asWorker+"=1")
	return cmd
}

// script is a bench whose worker is a script of the shell.
func script(text string) stage {
	return stage{bench: &workbench.Bench{Self: func(ctx context.Context, _ ...string) *exec.Cmd {
		return exec.CommandContext(ctx, "/bin/sh", "-c", text)
	}}}
}

// A tenth of the article's test.
var small = &Crash{Keys: 100, Kills: 10, Workers: 4}

func setup(t *testing.T) stage {
	t.Helper()
	s := stage{bench: &workbench.Bench{Self: self}, pool: testdb.New(t, func(c *pgxpool.Config) { c.MaxConns = conns })}
	if err := design.Install(t.Context(), s.pool); err != nil {
		t.Fatal(err)
	}
	programs, err := payments.Build(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = programs.Close() })
	if s.card, err = programs.Processor(t.Context(), s.pool); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.card.Stop() })
	server, err := redis.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	s.redisAddress, s.redisPassword = server.Address, server.Password
	return s
}

func TestCrash(t *testing.T) {
	s := setup(t)
	t.Run("EndsWithItsContext", s.stop)
	t.Run("TableIsTheArticlesAndOurs", s.table)
}

func (s stage) stop(t *testing.T) {
	stopped := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	s.bench = &workbench.Bench{Self: self, Steps: func(string, int) (func(), func()) {
		return func() { cancel(stopped) }, func() {}
	}}
	if _, err := small.on(ctx, s); !errors.Is(err, stopped) {
		t.Errorf("error %v, want the cause", err)
	}
}

func (s stage) table(t *testing.T) {
	var answered atomic.Int64
	ends := 0
	s.bench = &workbench.Bench{Self: self, Steps: func(string, int) (func(), func()) {
		return func() { answered.Add(1) }, func() { ends++ }
	}}
	result, err := small.on(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range result.Section().Failed() {
		t.Error(f)
	}
	want := []struct{ charges, duplicates, unresolved int }{
		{110, 10, 0}, {100, 0, 0}, {110, 10, 0}, {110, 10, 0}, {100, 0, 0}, {100, 0, 0}, // the article's six
		{100, 0, 0}, {100, 0, 0}, {100, 0, 0}, {100, 0, 0}, {100, 0, 0}, {100, 0, 10}, {110, 10, 0}, // ours
	}
	if len(result.Rows) != len(want) {
		t.Fatalf("%d rows, want %d", len(result.Rows), len(want))
	}
	for i, r := range result.Rows {
		w := want[i]
		if r.Charges != w.charges || r.Duplicates != w.duplicates || r.Unresolved < w.unresolved || r.Kills != 10 || r.Answered != 100 {
			t.Errorf("%+v; want %+v", r, w)
		}
		if r.Failed > 0 {
			t.Logf("%s: %d requests got an error, and were sent again: %s", r.Design, r.Failed, r.FirstFailure)
		}
	}
	if answered.Load() != int64(100*len(want)) || ends != len(want) {
		t.Errorf("progress was told of %d answers and %d ends", answered.Load(), ends)
	}
	var settled int
	err = s.pool.QueryRow(t.Context(), "SELECT count(*) FROM idem.audit WHERE what = 'settle'").Scan(&settled)
	if err != nil || settled < 10 {
		t.Errorf("%d keys settled by hand, %v; want 10", settled, err)
	}
}

func TestWithoutRedisItsRowIsSkipped(t *testing.T) {
	t.Parallel()
	for i, v := range variants {
		if v.redis {
			row, err := small.row(t.Context(), stage{noRedis: &workbench.ErrSkipped{Why: "no redis-server"}}, i)
			if err != nil || row.Skipped != "skipped: no redis-server" || row.Design != v.label || row.Kills != 0 {
				t.Errorf("%+v, %v", row, err)
			}
			return
		}
	}
	t.Error("no design needs Redis")
}

func TestWorkersThatDoNotDoTheirPartAreNoticed(t *testing.T) {
	t.Parallel()
	answers := `read -r job; while read -r request; do echo '{"Outcome":{"Kind":0,"ChargeID":1}}'; done`
	for _, c := range []struct {
		claim, script, says string
		die                 design.Point
	}{
		{"one that survives", answers, `was to die at the point "taken" has passed it`, design.Taken},
		{"one that fails", "read -r job; echo out of order >&2; exit 3", "exit status 3", ""},
		{"and it says why", "read -r job; echo out of order >&2; exit 3", "out of order", ""},
		{"one that somebody else kills", "kill -KILL $$", "somebody else", ""},
		{"one that talks nonsense", "echo yes; exec cat >/dev/null", "invalid character", ""},
		{"one that fails at the end", answers + "; echo broken >&2; exit 1", "broken", ""},
		{"one that goes without an answer", "read -r job; read -r request; exit 0", "EOF", ""},
	} {
		t.Run(c.claim, func(t *testing.T) {
			r := run{Crash: &Crash{Workers: 1}, stage: script(c.script), variant: &variants[0], answered: func() {}}
			err := r.serve(t.Context(), []*customer{{payment: design.NewPayment("customer 1"), die: c.die}})
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("error %v, want %q", err, c.says)
			}
		})
	}
}

func TestRequestThatFailsIsSentAgain(t *testing.T) {
	t.Parallel()
	r := run{Crash: &Crash{Workers: 1}, variant: &variants[0], answered: func() {}, stage: script(`read -r job
		read -r request; echo '{"Failure":"out of order"}'
		read -r request; echo '{"Outcome":{"Kind":2}}'
		read -r request; echo '{"Unknown":true}'
		read -r request; echo '{"Outcome":{"Kind":1,"ChargeID":7}}'
		read -r request; exit 0`)}
	if err := r.serve(t.Context(), []*customer{{payment: design.NewPayment("customer 1")}}); err != nil {
		t.Fatal(err)
	}
	if r.row.Failed != 1 || r.row.FirstFailure != "out of order" || r.row.Answered != 1 {
		t.Errorf("%+v; want one failure and one answer", r.row)
	}
}

func TestWorkerRefusesWhatIsNoJob(t *testing.T) {
	t.Parallel()
	for input, says := range map[string]string{
		"":                                 "read the job: EOF",
		`{"Variant":99}`:                   "there is no design 99",
		`{"Variant":-1}`:                   "there is no design -1",
		`{"Database":"postgres://:port/"}`: "cannot parse",
		`{"Database":"postgres://127.0.0.1:1/none"} nonsense`: "read a request",
	} {
		var said strings.Builder
		err := Worker(t.Context(), strings.NewReader(input), &said)
		if err == nil || !strings.Contains(err.Error(), says) || said.Len() > 0 {
			t.Errorf("%s: error %v, said %q; want %q", input, err, said.String(), says)
		}
	}
	var said strings.Builder
	err := Worker(t.Context(), strings.NewReader(`{"Database":"postgres://127.0.0.1:1/none"} {}`), &said)
	if err != nil || !strings.Contains(said.String(), `"Failure":"failed to connect`) {
		t.Errorf("without a database: %v, %q", err, said.String())
	}
}
