// Package trials measures contestants by turns, and says how far apart their figures lie.
package trials

import "context"

// Plan is how often every contestant has its turn.
type Plan struct {
	Warmups int // turns before those that count
	Turns   int // that count
	// Step is called after every turn; nil: nobody is told.
	Step func()
}

// Steps is how many turns are taken in all.
func (p Plan) Steps(contestants int) int { return (p.Warmups + p.Turns) * contestants }

// Run gives every contestant its turns, round by round, so that what slows the machine for a while slows all of them. Each round
// starts one contestant later than the last, so that none always follows the same other. results[i] are those of contestants[i],
// in the order of the rounds, warm-ups left out.
func Run[T any](ctx context.Context, p Plan, contestants ...func(context.Context) (T, error)) (results [][]T, err error) {
	n := len(contestants)
	results = make([][]T, n)
	for round := range p.Warmups + p.Turns {
		for turn := range n {
			i := (round + turn) % n
			if err := ctx.Err(); err != nil {
				return nil, context.Cause(ctx)
			}
			result, err := contestants[i](ctx)
			if err != nil {
				return nil, err
			}
			if round >= p.Warmups {
				results[i] = append(results[i], result)
			}
			if p.Step != nil {
				p.Step()
			}
		}
	}
	return results, nil
}
