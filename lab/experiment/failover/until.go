package failover

import (
	"context"
	"fmt"
	"time"
)

// patience is how long a busy machine may take for one step.
const patience = time.Minute

// until waits until something has come about.
func until(ctx context.Context, what string, done func(context.Context) (bool, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("it takes more than %s until %s", patience, what))
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		ok, err := done(ctx)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil || ok:
			return err
		}
		<-tick.C
	}
}
