package idem_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/idem"
)

// recorder keeps every message that the connections of a pool send.
type recorder struct {
	mu   sync.Mutex
	sent []string
}

func (r *recorder) listen(mode pgx.QueryExecMode) func(*pgxpool.Config) {
	return func(c *pgxpool.Config) {
		c.MaxConns = 1
		c.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return false }
		c.ConnConfig.DefaultQueryExecMode = mode
		c.ConnConfig.TLSConfig, c.ConnConfig.Fallbacks = nil, nil
		dial := c.ConnConfig.DialFunc
		c.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dial(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return &recordedConn{Conn: conn, recorder: r}, nil
		}
	}
}

// differing is what a claim draws, 16 bytes as text and a fence of 16 digits, and the test's own tenant.
var differing = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}|\b[0-9]{16}\b|tenant ...`)

// note keeps one message: its type and text, or of parameters in binary their length.
func (r *recorder) note(kind byte, body []byte) {
	text := fmt.Sprintf("%c of %d bytes", kind, len(body))
	if kind == 'Q' || kind == 'P' {
		text = fmt.Sprintf("%s: %s", text, differing.ReplaceAll(bytes.TrimRight(body, "\x00"), []byte("…")))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sent = append(r.sent, text)
}

// of returns what was sent meanwhile.
func (r *recorder) of(call func()) []string {
	r.mu.Lock()
	before := len(r.sent)
	r.mu.Unlock()
	call()
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sent[before:]
}

type recordedConn struct {
	net.Conn
	recorder *recorder
	started  bool
	pending  []byte
}

func (c *recordedConn) Write(b []byte) (int, error) {
	c.pending = append(c.pending, b...)
	if !c.started && len(c.pending) >= 4 { // the start-up message has no type
		length := int(binary.BigEndian.Uint32(c.pending))
		c.pending, c.started = c.pending[length:], true
	}
	for c.started && len(c.pending) >= 5 {
		length := 1 + int(binary.BigEndian.Uint32(c.pending[1:]))
		if len(c.pending) < length {
			break
		}
		c.recorder.note(c.pending[0], c.pending[5:length])
		c.pending = c.pending[length:]
	}
	return c.Conn.Write(b)
}

// A caller who is alone sends to the byte what it would send without coalescing, but for what is drawn at random.
func TestLoneCallerSendsTheSameMessagesAsWithoutCoalescing(t *testing.T) {
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe,
		pgx.QueryExecModeDescribeExec, pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol} {
		t.Run(mode.String(), func(t *testing.T) {
			b := setup(t)
			policy := idem.Policy{Retention: time.Hour, Wait: time.Hour} // so that a third of the lease is what a claim may wait
			record := func(off bool, try int) map[string][]string {
				r := new(recorder)
				store := b.coalescingProcess(policy, r.listen(mode))
				store.NoCoalescing = off
				key := func(id string) idem.Key {
					k := b.key(id)
					k.Tenant = fmt.Sprint("tenant ", map[bool]string{true: "un", false: "co"}[off], try)
					return k
				}
				lease := map[string]*idem.Lease{}
				claim := func(id string) func() { return func() { lease[id] = b.claim(store, key(id)) } }
				seen := map[string][]string{}
				for _, act := range []struct {
					name string
					do   func()
				}{
					{"the first claim", claim("a")},
					{"a claim", claim("b")},
					{"a claim with a request", func() {
						k := key("c")
						k.Request = "request"
						b.claim(store.With(idem.Policy{Wait: time.Hour, Handler: "h"}), k)
					}},
					{"the first completion", func() { wantIs(t, lease["a"].Complete(b.ctx, created()), nil) }},
					{"a completion", func() { wantIs(t, lease["b"].Complete(b.ctx, created()), nil) }},
					{"a key in flight", func() {
						_, _, err := store.Claim(b.ctx, key("c"))
						wantIs(t, err, idem.ErrInFlight)
					}},
					{"a replay", func() {
						other := &idem.Store{Pool: store.Pool, Policy: policy, NoCoalescing: off}
						defer other.Close()
						_, resp, err := other.Claim(b.ctx, key("a"))
						wantIs(t, err, nil)
						if !resp.Replayed {
							t.Error("no replay")
						}
					}},
					{"Hold", func() {
						_, err := store.Hold(b.ctx, key("d"), answers(created()))
						wantIs(t, err, nil)
					}},
				} {
					seen[act.name] = r.of(act.do)
					if len(seen[act.name]) == 0 {
						t.Errorf("%s sent nothing", act.name)
					}
				}
				return seen
			}
			// A process that the machine stops for 10 ms between asking the pool and getting its answer turns to the reserve.
			var diff string
			for try := range 5 {
				if diff = cmp.Diff(record(true, try), record(false, try)); diff == "" {
					return
				}
			}
			t.Errorf("(-without +with)\n%s", diff)
		})
	}
}

// So does the heartbeat of a lease that is alone.
func TestLoneHeartbeatIsTheSingleStatement(t *testing.T) {
	for name, off := range map[string]bool{"with coalescing": false, "without": true} {
		t.Run(name, func(t *testing.T) {
			a := new(airport)
			b := setup(t, a.trace)
			store := &idem.Store{Pool: b.pool, Policy: idem.Policy{Lease: 300 * time.Millisecond}, NoCoalescing: off}
			defer store.Close()
			_, err := store.Hold(b.ctx, b.key("k"), func(context.Context, *idem.Lease) (*idem.Response, error) {
				b.eventually(func() bool {
					flights, _ := a.since(0, beating...)
					return len(flights) >= 3
				}, "no heartbeats")
				return created(), nil
			})
			wantIs(t, err, nil)
			flights, _ := a.since(0, beating...)
			for _, f := range flights {
				if diff := cmp.Diff([]string{"SettingsWrite", "LeaseExtend"}, f.statements); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}
