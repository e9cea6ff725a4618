package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// crashVariable, in the environment, makes the test binary the API: it goes by its arguments as the program does, prints each
// statement that it sends for requests, and ends or stops itself as the plan says that is the value.
const crashVariable = "PAYMENTS_TEST_CRASH"

// crashPlan is what the API does to itself: it kills or stops itself before or after the n-th statement, or stops when it is about to
// call the processor (sideCall). The zero plan is none.
type crashPlan struct {
	verb, side string
	nth        int
	name       string // of the statement
}

const sideCall = "call"

func (p crashPlan) String() string {
	if p.side == sideCall {
		return "paused before the call is sent"
	}
	if p.verb == "stop" {
		return fmt.Sprintf("paused %s %d %s", p.side, p.nth, p.name)
	}
	return fmt.Sprintf("%s %d %s", p.side, p.nth, p.name)
}

func (p crashPlan) environment() string {
	return fmt.Sprintf("%s=%s,%s,%d", crashVariable, p.verb, p.side, p.nth)
}

func readPlan(text string) (p crashPlan) {
	part := strings.Split(text, ",")
	p.verb, p.side = part[0], part[1]
	p.nth, _ = strconv.Atoi(part[2])
	return p
}

// What the API prints for the test that has started it.
const (
	tripLine      = "trip " // a statement that begins a round trip
	statementLine = "with it "
	stoppedLine   = "stopped"
)

// The API is what this process is for, so it does not get as far as TestMain, which builds what the tests need.
func init() {
	if plan, set := os.LookupEnv(crashVariable); set {
		os.Exit(crashingAPI(readPlan(plan)))
	}
}

func crashingAPI(plan crashPlan) int {
	o, code := parse(os.Args[1:], os.Stdout, os.Stderr)
	if code >= 0 {
		return code
	}
	config, err := pgxpool.ParseConfig(o.databaseURL)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	config.ConnConfig.Tracer = &crasher{plan: plan}
	config.ConnConfig.DialFunc = dialWire(config.ConnConfig.DialFunc)
	if plan.side == sideCall {
		http.DefaultTransport = &pausingTransport{RoundTripper: http.DefaultTransport}
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	go func() { // ends with the test, should that be killed
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(3)
	}()
	defer stop()
	if err := serve(ctx, o, config); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// crasher is a tracer that counts the statements of requests, and ends or stops its own process before or after one of them.
// Heartbeats do not count: when they come is chance.
type crasher struct {
	plan crashPlan

	mu    sync.Mutex
	armed bool // the statements of the start are behind
	seen  int
}

// count gives statements their numbers; the first one's comes back, 0 where they do not count.
func (c *crasher) count(texts ...string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.armed {
		return 0
	}
	for i, text := range texts {
		word := statementLine
		if i == 0 {
			word = tripLine
		}
		fmt.Println(word + nameOf(text))
	}
	c.seen += len(texts)
	return c.seen - len(texts) + 1
}

// nameOf is a query's name, or its first words.
func nameOf(text string) string {
	if name, ok := strings.CutPrefix(text, "-- name: "); ok {
		name, _, _ = strings.Cut(name, " ")
		return name
	}
	words := strings.Fields(text)
	if len(words) > 3 && strings.EqualFold(words[0], "insert") {
		return "INSERT " + words[2]
	}
	return strings.ToUpper(words[0])
}

func isHeartbeat(b *pgx.Batch) bool {
	for _, q := range b.QueuedQueries {
		if nameOf(q.SQL) == "LeaseExtend" {
			return true
		}
	}
	return false
}

// at does what the plan says if it is about this side of this statement.
func (c *crasher) at(side string, nth int) {
	if nth == 0 || nth != c.plan.nth || side != c.plan.side {
		return
	}
	switch c.plan.verb {
	case "kill":
		die()
	case "stop":
		pause()
	}
}

// pause stops the process until it is told to go on. The signal may reach another thread first, and this one is not to get
// further meanwhile.
func pause() {
	goOn := make(chan os.Signal, 1)
	signal.Notify(goOn, wakeUp)
	fmt.Println(stoppedLine)
	_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	<-goOn
}

// pausingTransport stops the process before its first request.
type pausingTransport struct {
	http.RoundTripper
	once sync.Once
}

func (p *pausingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	p.once.Do(pause)
	return p.RoundTripper.RoundTrip(r)
}

// die ends the process as a crash does.
func die() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

type statementContext struct{}

// traced is what a statement, or the next one of a batch, is known by.
type traced struct {
	nth   int
	start bool // the last statement of the start
}

func tracedIn(ctx context.Context) *traced {
	t, _ := ctx.Value(statementContext{}).(*traced)
	return t
}

// TraceQueryStart implements pgx.QueryTracer.
func (c *crasher) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	t := &traced{start: data.SQL == installSQL}
	if !t.start {
		t.nth = c.count(data.SQL)
		c.at("before", t.nth)
	}
	return context.WithValue(ctx, statementContext{}, t)
}

// TraceQueryEnd implements pgx.QueryTracer.
func (c *crasher) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryEndData) {
	t := tracedIn(ctx)
	if t.start {
		c.mu.Lock()
		c.armed = true
		c.mu.Unlock()
		return
	}
	c.at("after", t.nth)
}

// TraceBatchStart implements pgx.BatchTracer. The statements of a batch travel together: the first is what the batch is sent
// before; before a later one the process ends when those in front of it are on the wire.
func (c *crasher) TraceBatchStart(ctx context.Context, conn *pgx.Conn, data pgx.TraceBatchStartData) context.Context {
	t := new(traced)
	if !isHeartbeat(data.Batch) {
		var texts []string
		for _, q := range data.Batch.QueuedQueries {
			texts = append(texts, q.SQL)
		}
		t.nth = c.count(texts...)
		c.at("before", t.nth)
		if ahead := c.plan.nth - t.nth; t.nth > 0 && ahead > 0 && ahead < len(texts) && c.plan.side == "before" {
			conn.PgConn().Conn().(*wire).cutAfter(ahead, func() { c.at("before", c.plan.nth) })
		}
	}
	return context.WithValue(ctx, statementContext{}, t)
}

// TraceBatchQuery implements pgx.BatchTracer.
func (c *crasher) TraceBatchQuery(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchQueryData) {
	if t := tracedIn(ctx); t.nth > 0 {
		t.nth++
		c.at("after", t.nth-1)
	}
}

// TraceBatchEnd implements pgx.BatchTracer.
func (*crasher) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}
