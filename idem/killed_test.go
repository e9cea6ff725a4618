package idem_test

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/internal/pgproxy"
	"github.com/pgidem/pgidem/internal/testdb"
)

// The tests here run a part of themselves in a process of its own, to kill it. The child is this test binary, told by the
// environment what to do.
const (
	childTask = "IDEM_TEST_CHILD"
	childURL  = "IDEM_TEST_CHILD_URL"
	childID   = "IDEM_TEST_CHILD_TENANT"
)

// crashLease is short, because these tests live through it.
const crashLease = time.Second

func TestMain(m *testing.M) {
	if task := os.Getenv(childTask); task != "" {
		child(task)
		return
	}
	os.Exit(m.Run())
}

// child takes the key "k" of the tenant in the environment, says so, and never finishes.
func child(task string) {
	if task == "soak" {
		if err := soakChild(); err != nil {
			_, _ = os.Stderr.WriteString("soak: " + err.Error() + "\n")
			os.Exit(1)
		}
		return
	}
	pool, err := pgxpool.New(context.Background(), os.Getenv(childURL))
	if err != nil {
		panic(err)
	}
	store := &idem.Store{NoCoalescing: testdb.NoCoalescing(), Pool: pool, Policy: idem.Policy{Retention: time.Hour, Lease: crashLease, Wait: time.Minute}}
	key := idem.Key{Tenant: os.Getenv(childID), Endpoint: "POST /charges", ID: "k", Fingerprint: idem.FingerprintOf([]byte("$49.00"))}
	say := func(word string) { _, _ = os.Stdout.WriteString(word + "\n") }
	say("started")
	switch task {
	case "do":
		_, err = store.Do(context.Background(), key, func(ctx context.Context, tx pgx.Tx) (*idem.Response, error) {
			if _, err := tx.Exec(ctx, "INSERT INTO charges (key) VALUES ('k')"); err != nil {
				return nil, err
			}
			say("claimed")
			select {}
		})
	case "hold":
		_, err = store.Hold(context.Background(), key, func(context.Context, *idem.Lease) (*idem.Response, error) {
			say("claimed")
			select {}
		})
	case "claim":
		patient := store.With(idem.Policy{Retention: time.Hour, Lease: 10 * time.Minute, Wait: time.Minute})
		_, _, err = patient.Claim(context.Background(), key)
	}
	panic(err)
}

func childCommand(task string, env ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), childTask+"="+task), env...)
	return cmd
}

// startChild runs task in a process of its own and returns once it has said word.
func (b *bundle) startChild(task, word string) *exec.Cmd {
	b.t.Helper()
	cmd := childCommand(task, childURL+"="+b.pool.Config().ConnString(), childID+"="+b.t.Name())
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if strings.TrimSpace(lines.Text()) == word {
			return cmd
		}
	}
	b.t.Fatalf("the child ended without saying %q", word)
	return nil
}

// freeWithin runs the key's work as another process would, until it succeeds, and checks that this took no longer than most.
func (b *bundle) freeWithin(most time.Duration, call func(*idem.Store) error) {
	b.t.Helper()
	store := b.newStore(idem.Policy{Retention: time.Hour, Lease: crashLease, Wait: 100 * time.Millisecond, Stale: idem.StaleRerun})
	began := time.Now()
	b.eventually(func() bool {
		err := call(store)
		if err != nil && !errors.Is(err, idem.ErrInFlight) {
			b.t.Fatal(err)
		}
		return err == nil
	}, "the key never became free")
	if took := time.Since(began); took > most {
		b.t.Errorf("the key became free after %v, want at most %v", took, most)
	}
	if n := b.charges("k"); n != 1 {
		b.t.Errorf("%d charges, want 1", n)
	}
}

func (b *bundle) doAgain(s *idem.Store) error {
	_, err := s.Do(b.ctx, b.key("k"), charge("k"))
	return err
}

// holdAgain charges outside the lease's transaction, as at a processor.
func (b *bundle) holdAgain(s *idem.Store) error {
	_, err := s.Hold(b.ctx, b.key("k"), func(ctx context.Context, l *idem.Lease) (*idem.Response, error) {
		_, err := b.pool.Exec(ctx, "INSERT INTO charges (key) VALUES ('k')")
		return created(), err
	})
	return err
}

// P6: nothing looks busy for ever. Within one lease of a killed process, a silent client and a partitioned one the key is free
// (atomic mode), handed over (StaleRerun) or named unknown (StaleRefuse).
func TestP6NothingLooksBusyForEver(t *testing.T) {
	b := setup(t)
	t.Run("atomic mode, killed", func(t *testing.T) {
		b := b.on(t)
		child := b.startChild("do", "claimed")
		_ = child.Process.Kill()
		b.freeWithin(slack, b.doAgain) // its connection is gone, and its transaction with it
		b.exec("DELETE FROM charges")
	})
	t.Run("atomic mode, silent", func(t *testing.T) {
		b := b.on(t)
		child := b.startChild("do", "claimed")
		_ = child.Process.Signal(syscall.SIGSTOP)
		b.freeWithin(crashLease+slack, b.doAgain)
		b.exec("DELETE FROM charges")
	})
	t.Run("atomic mode, partitioned", func(t *testing.T) {
		b := b.on(t)
		proxy := new(pgproxy.Proxy)
		far := b.throughProxy(proxy, idem.Policy{Retention: time.Hour, Lease: crashLease})
		claimed, back := make(chan struct{}), make(chan struct{})
		ended := make(chan error, 1)
		go func() {
			_, err := far.Do(b.ctx, b.key("k"), func(ctx context.Context, tx pgx.Tx) (*idem.Response, error) {
				_, err := tx.Exec(ctx, "INSERT INTO charges (key) VALUES ('k')")
				close(claimed)
				<-back
				return created(), err
			})
			ended <- err
		}()
		<-claimed
		proxy.Partition(true)
		b.freeWithin(crashLease+slack, b.doAgain)
		proxy.Cut()
		proxy.Partition(false)
		close(back)
		if err := <-ended; err != nil && !errors.Is(err, idem.ErrUnavailable) {
			t.Logf("the partitioned caller was told: %v", err)
		}
		if n := b.charges("k"); n != 1 {
			t.Errorf("%d charges after the partition, want 1", n)
		}
		b.exec("DELETE FROM charges")
	})
	t.Run("lease mode, killed", func(t *testing.T) {
		b := b.on(t)
		child := b.startChild("hold", "claimed")
		_ = child.Process.Kill()
		b.freeWithin(crashLease+slack, b.holdAgain)
		b.exec("DELETE FROM charges")
	})
	t.Run("lease mode, stopped", func(t *testing.T) {
		b := b.on(t)
		child := b.startChild("hold", "claimed")
		_ = child.Process.Signal(syscall.SIGSTOP)
		b.freeWithin(crashLease+slack, b.holdAgain)
		b.exec("DELETE FROM charges")
	})
	t.Run("lease mode, refused", func(t *testing.T) {
		b := b.on(t)
		child := b.startChild("hold", "claimed")
		_ = child.Process.Kill()
		store := b.newStore(idem.Policy{Retention: time.Hour, Lease: crashLease, Wait: -1})
		began := time.Now()
		b.eventually(func() bool {
			_, _, err := store.Claim(b.ctx, b.key("k"))
			return errors.Is(err, idem.ErrOutcomeUnknown)
		}, "the key was never named unknown")
		if took := time.Since(began); took > crashLease+slack {
			t.Errorf("named unknown after %v, want one lease", took)
		}
		record, err := b.store.Lookup(b.ctx, b.key("k"))
		if err != nil || record.State != idem.StateAbandoned {
			t.Errorf("an operator sees %+v, %v; want an abandoned key", record, err)
		}
	})
}

// A claim whose caller is killed while it waits for a rival dies with it: when the rival rolls back, no key is left behind.
func TestClaimOfAKilledCallerLeavesNoKey(t *testing.T) {
	b := setup(t)
	rival := b.begin()
	b.claimBy(rival, b.key("k"))
	child := b.startChild("claim", "started")
	b.waitBlocked(1)
	_ = child.Process.Kill()
	wantBounded(t, 10*time.Second, func() { // a sixth of what the claim would wait
		b.eventually(func() bool {
			return b.count("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'") == 0
		}, "the killed caller's claim still waits")
	})
	b.rollback(rival)
	if n := b.count("SELECT count(*) FROM idem.keys"); n != 0 {
		t.Errorf("%d keys left behind, want 0", n)
	}
}
