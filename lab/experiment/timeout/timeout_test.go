package timeout

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestRunEndsWithItsContext(t *testing.T) {
	t.Parallel()
	b := setup(t)
	few := &Timeout{Second: 100 * time.Millisecond, Workers: 4, Strangers: 6, Payments: 2}
	stopped := errors.New("stopped")
	for i, part := range []func(context.Context, stage, *Result) error{few.waits, few.late, few.carts} {
		ctx, cancel := context.WithCancelCause(t.Context())
		b.bench.Steps = func(string, int) (func(), func()) { return func() { cancel(stopped) }, func() {} }
		if err := part(ctx, b.stage, few.result()); err == nil {
			t.Errorf("part %d went on", i+1)
		}
	}
}

func TestCheckNamesTheFlag(t *testing.T) {
	t.Parallel()
	if err := New().Check(); err != nil {
		t.Errorf("a full run: %v", err)
	}
	for want, change := range map[string]func(*Timeout){
		"--customers is 0":   func(t *Timeout) { t.Customers = 0 },
		"--customers is 101": func(t *Timeout) { t.Customers = 101 },
		"--second is 0s":     func(t *Timeout) { t.Second = 0 },
		"--workers is 1":     func(t *Timeout) { t.Workers = 1 },
		"--workers is 51":    func(t *Timeout) { t.Workers = 51 },
		"--strangers is 0":   func(t *Timeout) { t.Strangers = 0 },
		"--payments is 0":    func(t *Timeout) { t.Payments = 0 },
	} {
		changed := New()
		change(changed)
		if err := changed.Check(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}
