package experiment

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/pgidem/pgidem/lab/design"
	"github.com/pgidem/pgidem/lab/payments"
	"github.com/pgidem/pgidem/lab/redis"
)

// asWorker makes the test binary the worker that the experiment kills.
const asWorker = "EXPERIMENT_TEST_AS_CRASH_WORKER"

func TestMain(m *testing.M) {
	if os.Getenv(asWorker) == "" {
		os.Exit(m.Run())
	}
	if err := CrashWorker(context.Background(), os.Stdin, os.Stdout); err != nil {
		_, _ = os.Stderr.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
	os.Exit(0)
}

func worker(ctx context.Context) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), asWorker+"=1")
	return cmd
}

// script is a worker that is a script of the shell.
func script(text string) func(context.Context) *exec.Cmd {
	return func(ctx context.Context) *exec.Cmd { return exec.CommandContext(ctx, "/bin/sh", "-c", text) }
}

// crash is a tenth of the article's test.
func (b *bundle) crash(t *testing.T) Crash {
	t.Helper()
	programs, err := payments.Build(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = programs.Close() })
	server, err := redis.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	return Crash{Programs: programs, Redis: server, Worker: worker, Keys: 100, Kills: 10, Workers: 4}
}

func TestCrash(t *testing.T) {
	b := setup(t)
	c := b.crash(t)
	t.Run("EndsWithItsContext", func(t *testing.T) { b.stopCrash(t, c) })
	t.Run("TableIsTheArticlesAndOurs", func(t *testing.T) { b.crashTable(t, c) })
}

func (b *bundle) stopCrash(t *testing.T, c Crash) {
	stopped := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	c.Progress = func(string, int) (func(), func()) { return func() { cancel(stopped) }, func() {} }
	if _, err := c.Run(ctx, b.pool); !errors.Is(err, stopped) {
		t.Errorf("error %v, want the cause", err)
	}
}

func (b *bundle) crashTable(t *testing.T, c Crash) {
	var answered atomic.Int64
	ends := 0
	c.Progress = func(string, int) (func(), func()) {
		return func() { answered.Add(1) }, func() { ends++ }
	}
	result, err := c.Run(t.Context(), b.pool)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range result.Problems() {
		t.Error(p)
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
		if r.Article != nil && (r.Article.Duplicates > 0) == r.Once {
			t.Errorf("the article has %d duplicates for %s", r.Article.Duplicates, r.Design)
		}
	}
	if answered.Load() != int64(100*len(want)) || ends != len(want) {
		t.Errorf("progress was told of %d answers and %d ends", answered.Load(), ends)
	}
	var settled int
	if err := b.pool.QueryRow(t.Context(), "SELECT count(*) FROM idem.audit WHERE what = 'settle'").Scan(&settled); err != nil || settled < 10 {
		t.Errorf("%d keys settled by hand, %v; want 10", settled, err)
	}
}

func TestCrashNoticesWorkersThatDoNotDoTheirPart(t *testing.T) {
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
			r := crashRun{Crash: Crash{Worker: script(c.script), Workers: 1}, design: &crashDesigns[0], answered: func() {}}
			err := r.serve(t.Context(), []*customer{{payment: newPayment("customer 1"), die: c.die}})
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("error %v, want %q", err, c.says)
			}
		})
	}
}

func TestRequestThatFailsIsSentAgain(t *testing.T) {
	t.Parallel()
	r := crashRun{answered: func() {}, design: &crashDesigns[0], Crash: Crash{Workers: 1, Worker: script(`read -r job
		read -r request; echo '{"Failure":"out of order"}'
		read -r request; echo '{"Outcome":{"Kind":2}}'
		read -r request; echo '{"Unknown":true}'
		read -r request; echo '{"Outcome":{"Kind":1,"ChargeID":7}}'
		read -r request; exit 0`)}}
	if err := r.serve(t.Context(), []*customer{{payment: newPayment("customer 1")}}); err != nil {
		t.Fatal(err)
	}
	if r.row.Failed != 1 || r.row.FirstFailure != "out of order" || r.row.Answered != 1 {
		t.Errorf("%+v; want one failure and one answer", r.row)
	}
}

func TestCrashWorkerRefusesWhatIsNoJob(t *testing.T) {
	t.Parallel()
	for input, says := range map[string]string{
		"":                                 "read the job: EOF",
		`{"Design":99}`:                    "there is no design 99",
		`{"Design":-1}`:                    "there is no design -1",
		`{"Database":"postgres://:port/"}`: "cannot parse",
		`{"Database":"postgres://127.0.0.1:1/none"} nonsense`: "read a request",
	} {
		var said strings.Builder
		err := CrashWorker(t.Context(), strings.NewReader(input), &said)
		if err == nil || !strings.Contains(err.Error(), says) || said.Len() > 0 {
			t.Errorf("%s: error %v, said %q; want %q", input, err, said.String(), says)
		}
	}
	var said strings.Builder
	err := CrashWorker(t.Context(), strings.NewReader(`{"Database":"postgres://127.0.0.1:1/none"} {}`), &said)
	if err != nil || !strings.Contains(said.String(), `"Failure":"failed to connect`) {
		t.Errorf("without a database: %v, %q", err, said.String())
	}
}
