package timeout

import (
	"errors"
	"sync"
)

// each calls fn for every item, some at once, and returns the errors.
func each[T any](items []T, fn func(T) error) error {
	queue := make(chan T, len(items))
	for _, item := range items {
		queue <- item
	}
	close(queue)
	var all sync.WaitGroup
	var mu sync.Mutex
	var errs []error
	for range min(len(items), conns) {
		all.Go(func() {
			for item := range queue {
				if err := fn(item); err != nil {
					mu.Lock()
					errs = append(errs, err)
					mu.Unlock()
					return
				}
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}
