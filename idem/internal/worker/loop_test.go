package worker

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// The loop goes on at once while there is more, rests Every when there is not, and longer with each error in a row.
func TestLoopRestsByWhatItsPassesFind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		type pass struct {
			more bool
			err  error
			rest time.Duration // after it, give or take a tenth
		}
		failed := errors.New("failed")
		passes := []pass{
			{true, nil, 0}, {true, nil, 0}, {false, nil, time.Minute},
			{false, failed, time.Minute}, {false, failed, 2 * time.Minute}, {false, failed, 4 * time.Minute}, {false, failed, 8 * time.Minute},
			{false, failed, 10 * time.Minute}, {false, failed, 10 * time.Minute},
			{false, nil, time.Minute}, {false, failed, time.Minute}, {false, nil, 0},
		}
		var began []time.Time
		told := 0
		err := Loop{
			Every: time.Minute,
			Pass: func(context.Context) (bool, error) {
				n := len(began)
				began = append(began, time.Now())
				if n == len(passes)-1 {
					cancel()
				}
				return passes[n].more, passes[n].err
			},
			Failed: func(context.Context, error, time.Duration) { told++ },
		}.Run(ctx)
		if err != nil || len(began) != len(passes) || told != 7 {
			t.Fatalf("%v after %d passes, told of %d errors", err, len(began), told)
		}
		for i, p := range passes[:len(passes)-1] {
			if got := began[i+1].Sub(began[i]); got < p.rest-p.rest/10 || got > p.rest+p.rest/10 {
				t.Errorf("after pass %d it rested %v, want %v", i, got, p.rest)
			}
		}
	})
}

func TestLoopEndsWhileItRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		err := Loop{Every: time.Hour, Pass: func(context.Context) (bool, error) { return false, nil }}.Run(ctx)
		if took := time.Since(began); err != nil || took != time.Second {
			t.Errorf("%v after %v", err, took)
		}
	})
}
