package webhook

import (
	"context"
	"sync"
)

// group is goroutines of which the first that fails ends the context of the others.
type group struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	all    sync.WaitGroup
}

func newGroup(ctx context.Context) *group {
	g := new(group)
	g.ctx, g.cancel = context.WithCancelCause(ctx)
	return g
}

func (g *group) run(fn func(context.Context) error) {
	g.all.Go(func() {
		if err := fn(g.ctx); err != nil {
			g.cancel(err)
		}
	})
}

// wait returns the first error when all have ended.
func (g *group) wait() error {
	g.all.Wait()
	err := context.Cause(g.ctx)
	g.cancel(nil)
	return err
}

// each calls fn for 0 to n-1, from so many goroutines at once.
func each(ctx context.Context, n, atOnce int, fn func(ctx context.Context, i int) error) error {
	next := make(chan int, n)
	for i := range n {
		next <- i
	}
	close(next)
	all := newGroup(ctx)
	for range min(n, atOnce) {
		all.run(func(ctx context.Context) error {
			for i := range next {
				if err := fn(ctx, i); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return all.wait()
}
