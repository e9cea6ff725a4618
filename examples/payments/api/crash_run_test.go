package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/internal/pgproxy"
	"github.com/pgidem/pgidem/internal/processor"
	"github.com/pgidem/pgidem/internal/testdb"
)

// crashSite is what all rows of the matrix share: a database, and a processor a policy.
type crashSite struct {
	*testing.T
	url  string
	pool *pgxpool.Pool

	mu         sync.Mutex
	processors map[string]*processor.Process // by their flags
}

func newCrashSite(t *testing.T) *crashSite {
	t.Parallel()
	url := testdb.URL(t)
	c := &crashSite{T: t, url: url, pool: testdb.Pool(t, url), processors: map[string]*processor.Process{}}
	t.Cleanup(func() {
		for _, p := range c.processors {
			p.Kill()
		}
	})
	return c
}

// startProcessor starts one, or returns the one that has these flags.
func (c *crashSite) startProcessor(ctx context.Context, flags []string, own bool) (*processor.Process, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	name := fmt.Sprint(flags)
	if own {
		name += fmt.Sprint(" own ", len(c.processors))
	} else if p := c.processors[name]; p != nil {
		return p, nil
	}
	p, err := processor.Start(ctx, filepath.Join(programs, "processor"), with(c.url, "pool_max_conns=4"), flags...)
	if err == nil {
		c.processors[name] = p
	}
	return p, err
}

// crashRow is a line of the table.
type crashRow struct {
	policy, point string
	effects       int
	unresolved    int           // keys that an operator had to decide about
	status        int           // of the recorded answer; 0: outcome-unknown
	took          time.Duration // from the crash until the answer, the start of the next API included
	limit         time.Duration // that the policy promises
	extra         time.Duration // of it, what the point itself takes
	started       time.Duration // how long the next API took to start
	beyond        string
	err           error // what is not as it should be
}

// crashRun is one request that meets a crash, and everything until its answer stands.
type crashRun struct {
	*crashSite
	policy     crashPolicy
	point      crashPoint
	id         string // key, and what its effect is counted by
	processor  *processor.Process
	first      *crashed // the API that the crash meets
	firstReply chan reply
	at         time.Time // when it did
}

// happens notes when the crash was.
func (r *crashRun) happens() { r.at = time.Now() }

// until waits until ok.
func (r *crashRun) until(ctx context.Context, what string, ok func() (bool, error)) error {
	for {
		switch done, err := ok(); {
		case err != nil || done:
			return err
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("not in time: %s", what)
		}
	}
}

// errElsewhere: the API sent another statement than the plan expects. Under load a claim is sent again at times.
var errElsewhere = errors.New("the crash came elsewhere")

// run lives through one point.
func (c *crashSite) run(policy crashPolicy, point crashPoint, id string) (row crashRow) {
	for try := range 3 {
		row = c.runOnce(policy, point, fmt.Sprint(id, "-", try))
		if !errors.Is(row.err, errElsewhere) {
			break
		}
	}
	return row
}

func (c *crashSite) runOnce(policy crashPolicy, point crashPoint, id string) (row crashRow) {
	ctx, cancel := context.WithTimeout(c.Context(), time.Minute)
	defer cancel()
	r := &crashRun{crashSite: c, policy: policy, point: point, id: id, firstReply: make(chan reply, 1)}
	row = crashRow{policy: policy.name, point: point.name, limit: policy.limit + point.extra, extra: point.extra, beyond: point.beyond}
	row.err = errors.Join(r.live(ctx, &row), r.judge(&row))
	if r.first != nil {
		r.first.kill()
	}
	return row
}

// live is the crash, the restart, the retry, and where it takes one the operator.
func (r *crashRun) live(ctx context.Context, row *crashRow) (err error) {
	if err := r.crash(ctx); err != nil {
		return err
	}
	next := r.first
	select {
	case <-r.first.ended:
		next = nil
	default:
	}
	if next == nil || r.point.wakes { // it has died, or does not move
		if next, err = startCrashing(ctx, crashPlan{}, r.policy.flags(r.url, r.processor.URL)...); err != nil {
			return err
		}
		defer next.kill()
		row.started = next.took
	}
	answer, err := next.askUntil(ctx, r.policy.path, r.id, r.policy.body(r.id), r.policy.final)
	row.took = time.Since(r.at)
	if err != nil {
		return err
	}
	row.status = answer.status
	var late reply
	if r.point.wakes {
		if late, err = r.wake(ctx); err != nil {
			return err
		}
	}
	if answer.problem() == "outcome-unknown" {
		row.status, row.unresolved = 0, 1
		if answer, err = r.settle(ctx, next); err != nil {
			return err
		}
	}
	if late.err == nil && late.status/100 == 2 && late.body != answer.body {
		return fmt.Errorf("the API that had stopped answers %s, and recorded is %s", late.body, answer.body)
	}
	return r.stands(ctx, next, answer, row)
}

// crash sends the request to an API that the crash meets, and returns when it has.
func (r *crashRun) crash(ctx context.Context) (err error) {
	flags := append(r.policy.processor, r.point.processor...)
	if r.processor, err = r.startProcessor(ctx, flags, r.point.befall != nil); err != nil {
		return err
	}
	var armed atomic.Bool
	url := r.url
	if r.point.commit > 0 {
		kill := func() { _ = r.first.cmd.Process.Kill() }
		url = with(pgproxy.Start(r, &pgproxy.Proxy{OnCommit: r.point.onCommit(&armed, kill)}, r.url), "default_query_exec_mode=exec") // it knows a COMMIT by its text
	}
	if r.first, err = startCrashing(ctx, r.point.plan, append(r.policy.flags(url, r.processor.URL), r.point.api...)...); err != nil {
		return err
	}
	armed.Store(true)
	go func() { r.firstReply <- r.first.ask(ctx, r.policy.path, r.id, r.policy.body(r.id)) }()
	if r.point.befall != nil {
		if err := r.point.befall(ctx, r); err != nil || r.point.told == 0 {
			return err
		}
		told, err := r.firstTold(ctx)
		if err == nil && (told.err != nil || told.status != r.point.told) {
			err = fmt.Errorf("its client is told %d %s %v, want %d", told.status, told.body, told.err, r.point.told)
		}
		return err
	}
	select {
	case <-r.first.ended:
	case <-r.first.stopped:
	case survived := <-r.firstReply:
		select {
		case <-r.first.ended: // that is what its client heard of
		case <-time.After(10 * time.Second):
			return fmt.Errorf("the point is never reached: the API answers %d %s %v", survived.status, survived.body, survived.err)
		}
	case <-ctx.Done():
		return errors.New("the point is never reached")
	}
	r.happens()
	if plan, sent := r.point.plan, r.first.sent(); plan.nth > 0 && (plan.nth > len(sent) || sent[plan.nth-1].name != plan.name) {
		return errElsewhere
	}
	return nil
}

// firstTold is what the client is told by the API that the crash meets.
func (r *crashRun) firstTold(ctx context.Context) (told reply, err error) {
	select {
	case told = <-r.firstReply:
		r.firstReply <- told // for whoever asks once more
		return told, nil
	case <-ctx.Done():
		return told, errNoAnswer
	}
}

// wake lets a stopped API go on, which finds out that it has lost: what it says is the recorded answer, or no success at all.
func (r *crashRun) wake(ctx context.Context) (late reply, err error) {
	if err := r.first.signal(wakeUp); err != nil {
		return late, err
	}
	return r.firstTold(ctx)
}

// stands asks once more, and counts.
func (r *crashRun) stands(ctx context.Context, next *crashed, recorded reply, row *crashRow) error {
	if _, err := r.processor.Landed(ctx); err != nil {
		return err
	}
	again := next.ask(ctx, r.policy.path, r.id, r.policy.body(r.id))
	if !again.replayed() || again.status != recorded.status || again.body != recorded.body {
		return fmt.Errorf("asked once more it answers %d %s %v, and recorded is %d %s", again.status, again.body, again.err, recorded.status, recorded.body)
	}
	var err error
	if row.effects, err = r.effects(ctx); err != nil {
		return err
	}
	books, unfinished := 0, 0
	if err := r.pool.QueryRow(ctx, "SELECT count(*) FROM shop.charges AS b JOIN processor.operations AS o ON b.id = 'ch_' || o.id WHERE o.reference = $1", r.id).Scan(&books); err != nil {
		return err
	}
	if err := r.pool.QueryRow(ctx, "SELECT count(*) FROM idem.keys WHERE key = $1 AND status <> 'committed'", r.id).Scan(&unfinished); err != nil {
		return err
	}
	switch {
	case unfinished > 0:
		return errors.New("the key is not finished")
	case !r.policy.atomic() && books != 1 && row.unresolved == 0:
		return fmt.Errorf("the books have it %d times", books)
	}
	return nil
}

// effects counts what was charged or ordered.
func (r *crashRun) effects(ctx context.Context) (n int, err error) {
	count := "SELECT count(*) FROM processor.operations WHERE kind = 'charge' AND status = 'succeeded' AND reference = $1"
	if r.policy.atomic() {
		count = "SELECT count(*) FROM shop.orders WHERE customer = $1"
	}
	err = r.pool.QueryRow(ctx, count, r.id).Scan(&n)
	return n, err
}

// judge says what is not as it should be.
func (r *crashRun) judge(row *crashRow) error {
	var errs []error
	if row.effects != 1 {
		errs = append(errs, fmt.Errorf("%d effects", row.effects))
	}
	if most := row.limit + row.started + crashSlack; row.took > most {
		errs = append(errs, fmt.Errorf("the answer took %v, and at most %v are allowed", row.took.Round(time.Millisecond), most.Round(time.Millisecond)))
	}
	if row.unresolved > 0 && !r.policy.refuses {
		errs = append(errs, errors.New("it is left to an operator"))
	}
	return errors.Join(errs...)
}

// idemCommand builds the command line tool that operators have, once.
var idemCommand = sync.OnceValues(func() (string, error) {
	path := filepath.Join(programs, "idem")
	if said, err := exec.Command("go", "build", "-buildvcs=false", "-o", path, "../../../cmd/idem").CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w: %s", err, said)
	}
	return path, nil
})
