package idem_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/goleak"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/internal/pgproxy"
	"github.com/pgidem/pgidem/internal/testdb"
)

const (
	soakFor    = "PGIDEM_SOAK"      // how long, such as 10m; unset: 5 s
	soakSeed   = "PGIDEM_SOAK_SEED" // of the faults; unset: a new one, printed
	soakDirect = "IDEM_TEST_SOAK_DIRECT"
	soakApp    = "idem soak"
	soakLease  = 2 * time.Second
)

func soakPolicy() idem.Policy {
	return idem.Policy{Retention: time.Hour, Lease: soakLease, Wait: 200 * time.Millisecond, Stale: idem.StaleRerun}
}

// A storm over two processes while connections are cut, COMMITs lost, backends terminated and statements cancelled at random:
// each key has one effect, all its callers got one answer, and nothing is left behind.
func TestSoak(t *testing.T) {
	t.Parallel()
	length := 5 * time.Second
	if s := os.Getenv(soakFor); s != "" {
		var err error
		if length, err = time.ParseDuration(s); err != nil {
			t.Fatalf("%s: %v", soakFor, err)
		}
	}
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv(soakSeed); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatalf("%s: %v", soakSeed, err)
		}
	}
	t.Logf("%s=%v %s=%d", soakFor, length, soakSeed, seed)
	b := setup(t)
	b.exec("CREATE TABLE processor (id bigint GENERATED ALWAYS AS IDENTITY, downstream_key text PRIMARY KEY, key text NOT NULL)")
	b.exec("CREATE TABLE answers (key text NOT NULL, body text NOT NULL)")

	var commits, faults atomic.Int64
	lottery := newLottery(seed)
	proxy := &pgproxy.Proxy{Delay: 6 * time.Second, OnCommit: func() pgproxy.Fault {
		commits.Add(1)
		fault := map[int]pgproxy.Fault{0: pgproxy.CutBefore, 1: pgproxy.DropAnswer, 2: pgproxy.DelayAnswer}[lottery.draw(150)]
		if fault != pgproxy.Pass {
			faults.Add(1)
		}
		return fault
	}}
	direct := b.pool.Config().ConnString()
	through := withApp(t, pgproxy.Start(t, proxy, direct))

	var processes []*process
	for n := range 2 {
		processes = append(processes, b.startProcess("soak", childURL+"="+through, soakDirect+"="+direct, childID+"="+t.Name(),
			soakSeed+"="+strconv.FormatUint(seed+uint64(n)+1, 10)))
	}
	for end := time.Now().Add(length); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		victim := fmt.Sprintf("SELECT count(%%s(pid)) FROM (SELECT pid FROM pg_stat_activity WHERE application_name = '%s' ORDER BY random() LIMIT 1) AS v", soakApp)
		switch lottery.draw(20) {
		case 0:
			proxy.Cut()
			faults.Add(1)
		case 1, 2:
			faults.Add(int64(b.countAsOwner(fmt.Sprintf(victim, "pg_terminate_backend"))))
		case 3, 4:
			faults.Add(int64(b.countAsOwner(fmt.Sprintf(victim, "pg_cancel_backend"))))
		}
	}
	for _, p := range processes {
		p.stop()
	}
	b.eventually(func() bool {
		return b.count("SELECT count(*) FROM pg_stat_activity WHERE application_name = $1", soakApp) == 0
	}, "connections of the ended processes are left")

	// Every client comes back once more, on a network that works, and gets its answer.
	clean := b.newStore(soakPolicy())
	keys := soakKeys(b)
	for _, key := range keys {
		b.eventually(func() bool {
			body, err := soakCall(b.ctx, clean, b.pool, key)
			if err == nil {
				b.exec("INSERT INTO answers (key, body) VALUES ($1, $2)", key.ID, body)
			}
			return err == nil
		}, "%s was never answered", key.ID)
	}
	t.Logf("%d keys, %d answers, %d commits through the proxy, %d faults", len(keys), b.count("SELECT count(*) FROM answers"), commits.Load(), faults.Load())
	if len(keys) == 0 || faults.Load() == 0 {
		t.Error("nothing was attacked")
	}
	for what, sql := range map[string]string{
		"keys charged twice in atomic mode":         "SELECT count(*) FROM (SELECT 1 FROM charges GROUP BY key HAVING count(*) <> 1) AS d",
		"keys charged twice at the processor":       "SELECT count(*) FROM (SELECT 1 FROM processor GROUP BY key HAVING count(*) <> 1) AS d",
		"keys with two answers":                     "SELECT count(*) FROM (SELECT 1 FROM answers GROUP BY key HAVING count(DISTINCT body) > 1) AS d",
		"keys unresolved":                           "SELECT count(*) FROM idem.keys WHERE status NOT IN ('committed', 'failed')",
		"answers of effects that are not there":     "SELECT count(*) FROM answers AS a WHERE NOT EXISTS (SELECT FROM charges AS c WHERE c.key = a.key) AND NOT EXISTS (SELECT FROM processor AS p WHERE p.key = a.key)",
		"finished keys whose effect never happened": "SELECT count(*) FROM idem.keys AS k WHERE NOT EXISTS (SELECT FROM charges AS c WHERE c.key = k.key) AND NOT EXISTS (SELECT FROM processor AS p WHERE p.key = k.key)",
	} {
		if n := b.count(sql); n != 0 {
			t.Errorf("%d %s", n, what)
		}
	}
}

// soakKeys are all keys that anybody claimed.
func soakKeys(b *bundle) (keys []idem.Key) {
	b.t.Helper()
	rows, err := b.pool.Query(b.ctx, "SELECT key FROM idem.keys UNION SELECT key FROM charges UNION SELECT key FROM processor")
	if err != nil {
		b.t.Fatal(err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		b.t.Fatal(err)
	}
	for _, id := range ids {
		keys = append(keys, b.key(id))
	}
	return keys
}

// soakCall asks for the payment of key: in atomic mode, or at the processor, which refuses a repeated key.
func soakCall(ctx context.Context, store *idem.Store, processor *pgxpool.Pool, key idem.Key) (body string, err error) {
	var resp *idem.Response
	if strings.HasPrefix(key.ID, "do") {
		resp, err = store.Do(ctx, key, func(ctx context.Context, tx pgx.Tx) (*idem.Response, error) {
			var id int64
			err := tx.QueryRow(ctx, "INSERT INTO charges (key) VALUES ($1) RETURNING id", key.ID).Scan(&id)
			return &idem.Response{Status: 201, Body: fmt.Append(nil, id)}, err
		})
	} else {
		resp, err = store.Hold(ctx, key, func(ctx context.Context, l *idem.Lease) (*idem.Response, error) {
			var id int64
			err := processor.QueryRow(ctx, `WITH charged AS (
				INSERT INTO processor (downstream_key, key) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING id
			) SELECT id FROM charged UNION ALL SELECT id FROM processor WHERE downstream_key = $1`, l.DownstreamKey("charge"), key.ID).Scan(&id)
			return &idem.Response{Status: 201, Body: fmt.Append(nil, id)}, err
		})
	}
	if err != nil {
		return "", err
	}
	return string(resp.Body), nil
}

// soakChild is one of the processes: callers that ask for payments, many of them for the same one, until its input ends.
func soakChild() error {
	seed, err := strconv.ParseUint(os.Getenv(soakSeed), 10, 64)
	if err != nil {
		return err
	}
	ctx := context.Background()
	config, err := pgxpool.ParseConfig(os.Getenv(childURL))
	if err != nil {
		return err
	}
	config.MaxConns = 16
	config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec // the proxy knows COMMIT by its text
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return err
	}
	direct, err := pgxpool.New(ctx, os.Getenv(soakDirect))
	if err != nil {
		return err
	}
	store := &idem.Store{NoCoalescing: testdb.NoCoalescing(), Pool: pool, Policy: soakPolicy()}
	var ended atomic.Bool
	var callers sync.WaitGroup
	lottery := newLottery(seed)
	for range 24 {
		callers.Go(func() {
			for n := 0; !ended.Load() && err == nil; n++ {
				// Both processes walk over the same keys at about the same pace, so that their callers meet.
				second := time.Now().Unix()
				mode := []string{"do", "hold"}[lottery.draw(2)]
				key := idem.Key{Tenant: os.Getenv(childID), Endpoint: "POST /charges", Fingerprint: idem.FingerprintOf([]byte("$49.00")),
					ID: fmt.Sprintf("%s %d %d", mode, second, lottery.draw(40))}
				body, callErr := soakCall(ctx, store, direct, key)
				switch {
				case callErr == nil:
					if _, err := direct.Exec(ctx, "INSERT INTO answers (key, body) VALUES ($1, $2)", key.ID, body); err != nil {
						fmt.Fprintln(os.Stderr, "soak:", err)
					}
				case errors.Is(callErr, idem.ErrMismatch), errors.Is(callErr, idem.ErrTxOwned):
					fmt.Fprintln(os.Stderr, "soak: an error that no fault explains:", callErr)
					os.Exit(1)
				}
			}
		})
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	ended.Store(true)
	callers.Wait()
	store.Close()
	pool.Close()
	direct.Close()
	if err := goleak.Find(); err != nil {
		return fmt.Errorf("goroutines are left: %w", err)
	}
	return nil
}

// lottery is a seeded source for many goroutines.
type lottery struct {
	mu     sync.Mutex
	random *rand.Rand
}

func newLottery(seed uint64) *lottery { return &lottery{random: rand.New(rand.NewPCG(seed, 0))} }

func (l *lottery) draw(n int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.random.IntN(n)
}

// withApp gives the connections of a URL a name by which the server's faults find them.
func withApp(t *testing.T, through string) string {
	t.Helper()
	u, err := url.Parse(through)
	if err != nil {
		t.Fatal(err)
	}
	query := u.Query()
	query.Set("application_name", soakApp)
	u.RawQuery = query.Encode()
	return u.String()
}

// process is a child that runs until its input ends.
type process struct {
	t     *testing.T
	input io.Closer
	wait  func() error
}

func (b *bundle) startProcess(task string, env ...string) *process {
	b.t.Helper()
	cmd := childCommand(task, env...)
	input, err := cmd.StdinPipe()
	if err != nil {
		b.t.Fatal(err)
	}
	said, err := cmd.StderrPipe()
	if err != nil {
		b.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = cmd.Process.Kill() })
	logged := make(chan struct{})
	go func() {
		defer close(logged)
		for lines := bufio.NewScanner(said); lines.Scan(); {
			b.t.Log(lines.Text())
		}
	}()
	return &process{t: b.t, input: input, wait: func() error { <-logged; return cmd.Wait() }}
}

func (p *process) stop() {
	p.t.Helper()
	_ = p.input.Close()
	if err := p.wait(); err != nil {
		p.t.Errorf("a process of the storm failed: %v", err)
	}
}

// countAsOwner is count with the rights of the database's owner, such as to end other sessions.
func (b *bundle) countAsOwner(sql string) (n int) {
	b.t.Helper()
	conn, err := pgx.Connect(b.ctx, b.pool.Config().ConnString())
	if err != nil {
		b.t.Fatal(err)
	}
	defer conn.Close(b.ctx)
	if err := conn.QueryRow(b.ctx, sql).Scan(&n); err != nil {
		b.t.Fatalf("%s: %v", sql, err)
	}
	return n
}
