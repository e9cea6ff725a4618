package bench

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// load is calls from many callers, each of whom makes its next when the last has been answered.
type load struct {
	workers int
	call    call
}

// outcome is what became of a load.
type outcome struct {
	Failed       int
	FirstFailure string
	Took         time.Duration
}

// run calls with keys in their order. It goes on after a call that fails.
func (l load) run(ctx context.Context, keys []string) outcome {
	var (
		o       outcome
		mu      sync.Mutex
		next    atomic.Int64
		callers sync.WaitGroup
	)
	began := time.Now()
	for range l.workers {
		callers.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(keys)) && ctx.Err() == nil; i = next.Add(1) - 1 {
				if err := l.call(ctx, keys[i]); err != nil {
					mu.Lock()
					if o.Failed++; o.FirstFailure == "" {
						o.FirstFailure = err.Error()
					}
					mu.Unlock()
				}
			}
		})
	}
	callers.Wait()
	o.Took = time.Since(began)
	return o
}

// prepare gives so many keys the answer that the arm is to find, where it needs any.
func (a *arm) prepare(ctx context.Context, n, workers int) (keys []string, err error) {
	switch {
	case a.finish == nil:
		return nil, nil
	case a.keys == hotFinished:
		n = 1
	}
	keys = some(n)
	err = a.launched(ctx, func() error {
		if o := (load{workers, a.finish}).run(ctx, keys); o.Failed > 0 {
			return fmt.Errorf("%s: finish %d keys: %s", a.id, n, o.FirstFailure)
		}
		return ctx.Err()
	})
	return keys, err
}

// launched runs f while what the arm needs beside its calls is running.
func (a *arm) launched(ctx context.Context, f func() error) (err error) {
	if a.launch == nil {
		return f()
	}
	end, err := a.launch(ctx)
	if err != nil {
		return fmt.Errorf("%s: launch: %w", a.id, err)
	}
	defer func() {
		if ended := end(); err == nil && ended != nil {
			err = fmt.Errorf("%s: shut down: %w", a.id, ended)
		}
	}()
	return f()
}
