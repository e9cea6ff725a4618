package idem_test

import (
	"context"
	"errors"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pgidem/pgidem/idem"
)

// mayHave is work after whose call nobody knows whether it had its effect.
func mayHave(end func(context.Context, *idem.Lease) (*idem.Response, error)) func(*bundle, *idem.Store, idem.Key) {
	return func(b *bundle, s *idem.Store, key idem.Key) {
		_ = run(func() (*idem.Response, error) {
			return s.Hold(b.ctx, key, func(ctx context.Context, l *idem.Lease) (*idem.Response, error) {
				l.DownstreamKey("charge") // the call
				return end(ctx, l)
			})
		})
	}
}

// inherits is mayHave by a holder that died, and end by the one that takes over.
func inherits(end func(*bundle, *idem.Store, idem.Key)) func(*bundle, *idem.Store, idem.Key) {
	return func(b *bundle, s *idem.Store, key idem.Key) {
		b.abandonedBy(s, key.ID).DownstreamKey("charge")
		end(b, s, key)
	}
}

// unknowns are the ways of a key on which an effect may have happened, and nobody knows.
var unknowns = map[string]func(*bundle, *idem.Store, idem.Key){
	"a panic": mayHave(func(context.Context, *idem.Lease) (*idem.Response, error) { panic("at the disco") }),
	"an exit of its goroutine": mayHave(func(context.Context, *idem.Lease) (*idem.Response, error) {
		runtime.Goexit()
		return nil, nil
	}),
	"an error, as of a 500": mayHave(func(context.Context, *idem.Lease) (*idem.Response, error) { return nil, errWork }),
	"a time-out":            mayHave(func(context.Context, *idem.Lease) (*idem.Response, error) { return nil, context.DeadlineExceeded }),
	"Transient after two calls": mayHave(func(_ context.Context, l *idem.Lease) (*idem.Response, error) {
		l.DownstreamKey("notify")
		return nil, idem.Transient(errWork)
	}),
	"Release after a call": mayHave(func(ctx context.Context, l *idem.Lease) (*idem.Response, error) {
		_ = l.Release(ctx)
		return created(), nil
	}),
	"Release, and once more": mayHave(func(ctx context.Context, l *idem.Lease) (*idem.Response, error) {
		_, _ = l.Release(ctx), l.Release(ctx)
		return nil, idem.Transient(errWork)
	}),
	"Abandon, then Release": mayHave(func(ctx context.Context, l *idem.Lease) (*idem.Response, error) {
		_, _ = l.Abandon(ctx), l.Release(ctx)
		return nil, idem.Transient(errWork)
	}),
	"a step that fails, then Transient": mayHave(func(ctx context.Context, l *idem.Lease) (*idem.Response, error) {
		d := downstream{then: errWork}
		_, _ = l.Step(ctx, "step", d.charge)
		return nil, idem.Transient(errWork)
	}),
	"a step that fails, then Release": mayHave(func(ctx context.Context, l *idem.Lease) (*idem.Response, error) {
		d := downstream{then: errWork}
		_, _ = l.Step(ctx, "step", d.charge)
		return nil, l.Release(ctx)
	}),
	"a step that panics": mayHave(func(ctx context.Context, l *idem.Lease) (*idem.Response, error) {
		return nil, func() error {
			_, err := l.Step(ctx, "step", func(context.Context, string) ([]byte, error) { panic("in the middle") })
			return err
		}()
	}),
	"a step that is recorded, then Release": mayHave(func(ctx context.Context, l *idem.Lease) (*idem.Response, error) {
		_, _ = l.Step(ctx, "step", new(downstream).charge)
		return nil, l.Release(ctx)
	}),
	"CompleteTx that rolls back, then Release": func(b *bundle, s *idem.Store, key idem.Key) {
		mayHave(func(ctx context.Context, l *idem.Lease) (*idem.Response, error) {
			_ = pgx.BeginFunc(ctx, b.pool, func(tx pgx.Tx) error { return errors.Join(l.CompleteTx(ctx, tx, created()), errWork) })
			_ = l.Release(ctx)
			return nil, idem.Transient(errWork)
		})(b, s, key)
	},
	"its client hangs up": func(b *bundle, s *idem.Store, key idem.Key) {
		ctx, hangUp := context.WithCancel(b.ctx)
		_, _ = s.Hold(ctx, key, func(ctx context.Context, l *idem.Lease) (*idem.Response, error) {
			l.DownstreamKey("charge")
			hangUp()
			return nil, errWork
		})
	},
	"Drain": func(b *bundle, s *idem.Store, key idem.Key) {
		over, drained := context.WithCancel(b.ctx)
		drained()
		_, _ = s.Hold(b.ctx, key, func(_ context.Context, l *idem.Lease) (*idem.Response, error) {
			l.DownstreamKey("charge")
			_ = s.Drain(over)
			return nil, idem.Transient(errWork)
		})
	},
	"its process is killed": func(b *bundle, _ *idem.Store, _ idem.Key) {
		child := b.startChild("hold", "claimed")
		_ = child.Process.Signal(syscall.SIGKILL)
	},
	"a takeover, then Release": inherits(func(b *bundle, s *idem.Store, key idem.Key) { _ = b.held(s, key.ID).Release(b.ctx) }),
	"a takeover, then Transient": inherits(func(b *bundle, s *idem.Store, key idem.Key) {
		_, _ = s.Hold(b.ctx, key, func(context.Context, *idem.Lease) (*idem.Response, error) { return nil, idem.Transient(errWork) })
	}),
	"a takeover by a client that has gone": inherits(func(b *bundle, s *idem.Store, key idem.Key) {
		ctx, goes := context.WithCancel(b.ctx)
		gone := b.process(rerun, pauseAfter{"KeyTakeOver", goes}.trace)
		_, _, _ = gone.Claim(ctx, key)
	}),
	"a takeover, and one more": inherits(func(b *bundle, s *idem.Store, key idem.Key) {
		b.abandonedBy(s, key.ID)
		_ = b.held(s, key.ID).Release(b.ctx)
	}),
	"asked, and it is pending": inherits(func(b *bundle, _ *idem.Store, key idem.Key) {
		_, _ = b.newStore(resolving(verdict(idem.Pending, nil, nil))).Hold(b.ctx, key, holdMustNotRun(b.t))
	}),
	"asked, and nobody answers": inherits(func(b *bundle, _ *idem.Store, key idem.Key) {
		_, _ = b.newStore(resolving(verdict(idem.Nothing, nil, errWork))).Hold(b.ctx, key, holdMustNotRun(b.t))
	}),
	"asked, and asking panics": inherits(func(b *bundle, _ *idem.Store, key idem.Key) {
		_ = run(func() (*idem.Response, error) {
			return b.newStore(resolving(func(context.Context, *idem.Record) (idem.Verdict, *idem.Response, error) { panic("asking") })).
				Hold(b.ctx, key, holdMustNotRun(b.t))
		})
	}),
	"asked, nothing had happened, and then it may have": inherits(func(b *bundle, _ *idem.Store, key idem.Key) {
		_, _ = b.newStore(resolving(verdict(idem.Nothing, nil, nil))).Hold(b.ctx, key, func(_ context.Context, l *idem.Lease) (*idem.Response, error) {
			l.DownstreamKey("charge")
			return nil, errWork
		})
	}),
	"a Completer's run fails": inherits(func(b *bundle, s *idem.Store, key idem.Key) {
		b.exec("UPDATE idem.keys SET handler = 'charge' WHERE tenant_id = $1", key.Tenant)
		c := idem.Completer{Store: s, Handlers: map[string]idem.Work{
			"charge": func(context.Context, *idem.Lease) (*idem.Response, error) { return nil, idem.Transient(errWork) },
		}}
		_, _ = c.Complete(b.ctx)
	}),
}

// P8 Unknown is a state: after an effect that may have happened no path gives the key back. It stays unknown until somebody who
// may ask or repeat the call does, under the downstream key of the first call.
func TestP8UnknownIsAState(t *testing.T) {
	b := setup(t)
	for name, path := range unknowns {
		t.Run(name, func(t *testing.T) {
			b := b.on(t)
			key := b.key("k")
			path(b, b.newStore(rerun), key)
			record := b.record(key)
			if record.State != idem.StateAbandoned && record.State != idem.StateHeld {
				t.Fatalf("the key is %s; want abandoned, or held until a lease is over", record.State)
			}
			b.age(key, time.Hour)
			for policy, next := range map[string]idem.Policy{"StaleRefuse": {Wait: -1}, "StaleResolve": resolving(verdict(idem.Pending, nil, nil))} {
				if _, err := b.newStore(next).Hold(b.ctx, key, holdMustNotRun(t)); !errors.Is(err, idem.ErrOutcomeUnknown) {
					t.Errorf("%s: got %v, want ErrOutcomeUnknown", policy, err)
				}
			}
			again := b.held(b.newStore(rerun), "k")
			if again.Attempt() != record.Attempts+2 || again.Fence() <= record.Fence || again.DownstreamKey("charge") != record.DownstreamKey("charge") {
				t.Errorf("StaleRerun: attempt %d after %d, fence %d after %d, downstream keys %s and %s", again.Attempt(), record.Attempts,
					again.Fence(), record.Fence, again.DownstreamKey("charge"), record.DownstreamKey("charge"))
			}
		})
	}
}
