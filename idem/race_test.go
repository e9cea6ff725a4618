package idem_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/internal/testdb"
)

// A race is a list of named steps of several sessions in a stated order (the form of pgmq's transaction_tests.spec). A session
// that must wait is seen to wait before the next step is taken.
type step struct {
	name string
	run  func()
}

func do(name string, run func()) step { return step{name, run} }

func (b *bundle) inOrder(steps ...step) {
	b.t.Helper()
	for i, s := range steps {
		b.t.Logf("%d. %s", i+1, s.name)
		s.run()
	}
}

// blocked is the step in which n sessions of the database are seen to wait for a lock.
func (b *bundle) blocked(n int) step {
	return do("wait until "+strconv.Itoa(n)+" are blocked", func() { b.waitBlocked(n) })
}

// call is one call of a Store, made by a session.
type call func(ctx context.Context, s *session) (*idem.Response, error)

// session is one caller with a Store of its own, as in a process of its own.
type session struct {
	b     *bundle
	name  string
	store *idem.Store

	ctx     context.Context
	cancel  context.CancelCauseFunc
	working chan struct{} // its work has begun, and is held
	goOn    chan struct{}
	ended   chan struct{}
	resp    *idem.Response
	err     error

	panicked any
}

// patient waits for rivals longer than any test lets them.
var patient = idem.Policy{Retention: time.Hour, Wait: 20 * time.Second}

func (b *bundle) session(name string, policy ...idem.Policy) *session {
	p := patient
	if len(policy) > 0 {
		p = policy[0]
	}
	return b.sharing(name, b.newStore(p))
}

// sharing is a session in the process of store.
func (b *bundle) sharing(name string, store *idem.Store) *session {
	s := &session{b: b, name: name, store: store}
	s.again()
	return s
}

func (s *session) again() {
	s.ctx, s.cancel = context.WithCancelCause(s.b.ctx)
	s.working, s.goOn, s.ended = make(chan struct{}, 1), make(chan struct{}), make(chan struct{})
}

// starts begins a call in the background.
func (s *session) starts(what string, c call) step {
	return do(s.name+" starts "+what, func() {
		go func() {
			defer close(s.ended)
			defer func() { s.panicked = recover() }()
			s.resp, s.err = c(s.ctx, s)
		}()
	})
}

// works waits until the session's held work is under way.
func (s *session) works() step {
	return do(s.name+" works", func() {
		s.b.t.Helper()
		select {
		case <-s.working:
		case <-s.ended:
			s.b.t.Fatalf("%s got %+v, %v without work", s.name, s.resp, s.err)
		case <-time.After(30 * time.Second):
			s.b.t.Fatalf("%s's work never began", s.name)
		}
	})
}

// goesOn lets the held work go on.
func (s *session) goesOn() step { return do(s.name+" goes on", func() { close(s.goOn) }) }

// gets waits for the call's answer and compares it.
func (s *session) gets(what string, want *idem.Response) step {
	return do(s.name+" gets "+what, func() {
		s.b.t.Helper()
		s.wait()
		if s.err != nil {
			s.b.t.Fatalf("%s got error %v, want %s", s.name, s.err, what)
		}
		if s.panicked != nil {
			s.b.t.Fatalf("%s panicked: %v", s.name, s.panicked)
		}
		if diff := cmp.Diff(want, s.resp, sameAnswer); diff != "" {
			s.b.t.Fatalf("%s got another answer than %s (-want +got):\n%s", s.name, what, diff)
		}
	})
}

// fails waits for the call's error.
func (s *session) fails(target error) step {
	return do(s.name+" fails: "+target.Error(), func() {
		s.b.t.Helper()
		s.wait()
		wantIs(s.b.t, s.err, target)
	})
}

func (s *session) wait() {
	s.b.t.Helper()
	s.b.receive(s.ended, s.name+"'s call never ended")
}

// hold is called in work: it says that the work has begun and stands still until goesOn.
func (s *session) hold() {
	select {
	case s.working <- struct{}{}:
	default: // it runs again
	}
	select {
	case <-s.goOn:
	case <-s.b.ctx.Done():
	}
}

// does is Do with held work.
func (s *session) does(key idem.Key, fn idem.TxWork) step {
	return s.starts("Do", func(ctx context.Context, s *session) (*idem.Response, error) {
		return s.store.Do(ctx, key, func(ctx context.Context, tx pgx.Tx) (*idem.Response, error) {
			s.hold()
			return fn(ctx, tx)
		})
	})
}

// holds is Hold with held work.
func (s *session) holds(key idem.Key, fn idem.Work) step {
	return s.starts("Hold", func(ctx context.Context, s *session) (*idem.Response, error) {
		return s.store.Hold(ctx, key, func(ctx context.Context, l *idem.Lease) (*idem.Response, error) {
			s.hold()
			return fn(ctx, l)
		})
	})
}

func (b *bundle) receive(c <-chan struct{}, complaint string) {
	b.t.Helper()
	select {
	case <-c:
	case <-time.After(30 * time.Second):
		b.t.Fatal(complaint)
	}
}

// sameAnswer compares what a client sees.
var sameAnswer = cmp.Options{cmpopts.IgnoreFields(idem.Response{}, "CompletedAt"), cmpopts.EquateEmpty()}

// replayOf is r as a later caller gets it.
func replayOf(r *idem.Response) *idem.Response {
	c := *r
	c.Replayed = true
	return &c
}

// process is a Store with a small pool of its own on the same database.
func (b *bundle) process(p idem.Policy, mutate ...func(*pgxpool.Config)) *idem.Store {
	b.t.Helper()
	s := &idem.Store{NoCoalescing: testdb.NoCoalescing(), Pool: testdb.Pool(b.t, b.pool.Config().ConnString(), mutate...), Policy: p}
	b.t.Cleanup(s.Close)
	return s
}

// gates stop the claims of one session between statements that travel in one round trip: gate 2n-1 stands before the n-th
// INSERT (its snapshot taken, nothing inserted yet), gate 2n after it and before the load.
type gates struct {
	b    *bundle
	conn *pgxpool.Conn
	who  *session // the one that stops at them
}

// gates shuts the gates named. Only the Stores made by gated stop there, one call at a time.
func (b *bundle) gates(shut ...int) *gates {
	b.t.Helper()
	b.exec(`CREATE SEQUENCE looks`)
	b.exec(`CREATE FUNCTION gate() RETURNS trigger LANGUAGE plpgsql AS $$
		DECLARE n bigint;
		BEGIN
			IF current_setting('test.gated', true) = 'yes' THEN
				n := nextval('public.looks');
				PERFORM pg_advisory_lock_shared(n);
				PERFORM pg_advisory_unlock_shared(n);
			END IF;
			RETURN NULL;
		END $$`)
	b.execAsOwner(`CREATE TRIGGER gate_before BEFORE INSERT ON idem.keys FOR EACH STATEMENT EXECUTE FUNCTION gate()`)
	b.execAsOwner(`CREATE TRIGGER gate_after AFTER INSERT ON idem.keys FOR EACH STATEMENT EXECUTE FUNCTION gate()`)
	conn, err := b.pool.Acquire(b.ctx)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() {
		_, _ = conn.Exec(context.WithoutCancel(b.ctx), "SELECT pg_advisory_unlock_all()")
		conn.Release()
	})
	g := &gates{b: b, conn: conn}
	for _, n := range shut {
		g.exec("SELECT pg_advisory_lock($1::bigint)", n)
	}
	return g
}

func (g *gates) exec(sql string, args ...any) {
	g.b.t.Helper()
	if _, err := g.conn.Exec(g.b.ctx, sql, args...); err != nil {
		g.b.t.Fatal(err)
	}
}

func (g *gates) gated(name string, policy ...idem.Policy) *session {
	g.b.t.Helper()
	p := append(policy, patient)[0]
	g.who = g.b.sharing(name, g.b.process(p, func(c *pgxpool.Config) { c.ConnConfig.RuntimeParams["test.gated"] = "yes" }))
	return g.who
}

// reached waits until the session stands before gate n.
func (g *gates) reached(n int) step {
	return do("gate "+strconv.Itoa(n)+" is reached", func() {
		g.b.t.Helper()
		g.b.eventually(func() bool {
			select {
			case <-g.who.ended:
				g.b.t.Fatalf("%s got %+v, %v before gate %d", g.who.name, g.who.resp, g.who.err, n)
			default:
			}
			return g.b.count("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = $1::bigint AND NOT granted", n) == 1
		}, "nobody stopped at gate %d", n)
	})
}

func (g *gates) opens(n int) step {
	return do("gate "+strconv.Itoa(n)+" opens", func() { g.exec("SELECT pg_advisory_unlock($1::bigint)", n) })
}

// storm runs n callers at once, all released together, and returns when the last has ended.
func storm(n int, caller func(i int)) {
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		wg.Go(func() {
			<-start
			caller(i)
		})
	}
	close(start)
	wg.Wait()
}

// insert puts a finished key beside the protocol, as a rival's whole call would leave it.
func (b *bundle) insertFinished(key idem.Key, body string) {
	b.t.Helper()
	b.exec(`INSERT INTO idem.keys (fence, claimed_at, created_at, completed_at, expires_at, claim_id, attempts, leased, tenant_id,
			endpoint, key, status, fingerprint, response_status, response_header, response_body)
		SELECT 1, now(), now(), now(), now() + interval '1 hour', gen_random_uuid(), 1, false, $1, $2, $3, 'committed', $4::bytea, 201, '', $5::bytea`,
		key.Tenant, key.Endpoint, key.ID, []byte(key.Fingerprint), []byte(body))
}

// row is a key's row as text, for a comparison before and after; "" where none stands.
func (b *bundle) row(key idem.Key) (text string) {
	b.t.Helper()
	err := b.pool.QueryRow(b.ctx, `SELECT coalesce((SELECT k::text FROM idem.keys AS k WHERE tenant_id = $1 AND endpoint = $2 AND key = $3), '')`,
		key.Tenant, key.Endpoint, key.ID).Scan(&text)
	if err != nil {
		b.t.Fatal(err)
	}
	return text
}

func (b *bundle) delete(key idem.Key) {
	b.t.Helper()
	b.exec("DELETE FROM idem.keys WHERE tenant_id = $1 AND endpoint = $2 AND key = $3", key.Tenant, key.Endpoint, key.ID)
}

// sum counts the answers of a storm by what they were.
type sum struct {
	mu     sync.Mutex
	counts map[string]int
	fresh  []*idem.Response
}

func (s *sum) add(r *idem.Response, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.counts == nil {
		s.counts = map[string]int{}
	}
	switch {
	case err != nil:
		s.counts[err.Error()]++
	case r.Replayed:
		s.counts["replayed"]++
	default:
		s.counts["fresh"]++
		s.fresh = append(s.fresh, r)
	}
}

// wantOnly checks that nothing but the kinds named was answered, and exactly one fresh answer.
func (s *sum) wantOneFresh(t *testing.T, allowed ...string) {
	t.Helper()
	for kind, n := range s.counts {
		if kind != "fresh" && kind != "replayed" && !slices.Contains(allowed, kind) {
			t.Errorf("%d callers got %q", n, kind)
		}
	}
	if s.counts["fresh"] != 1 {
		t.Errorf("%d first answers, want 1; all answers: %v", s.counts["fresh"], s.counts)
	}
}

// queued is the step in which n callers of key wait in store's memory.
func (b *bundle) queued(store *idem.Store, key idem.Key, n int) step {
	return do("wait until "+strconv.Itoa(n)+" are queued in memory", func() {
		b.t.Helper()
		b.eventually(func() bool { return idem.Queued(store, key) == n }, "%d callers were never queued in memory", n)
	})
}

// insertStep records a finished step of key by hand.
func (b *bundle) insertStep(key idem.Key, name string) {
	b.t.Helper()
	b.exec(`INSERT INTO idem.steps (begun_at, finished_at, position, tenant_id, endpoint, key, name, output)
		SELECT now(), now(), 1, $1, $2, $3, $4, '\x6f6b'`, key.Tenant, key.Endpoint, key.ID, name)
}

func (b *bundle) steps(key idem.Key) int {
	b.t.Helper()
	return b.count("SELECT count(*) FROM idem.steps WHERE tenant_id = $1 AND endpoint = $2 AND key = $3", key.Tenant, key.Endpoint, key.ID)
}

// keyError is the Store's own error in err.
func keyError(t *testing.T, err error) *idem.KeyError {
	t.Helper()
	var k *idem.KeyError
	if !errors.As(err, &k) {
		t.Fatalf("%v (%T) is no *KeyError", err, err)
	}
	return k
}
