package idemhttp

import (
	"math"
	"testing"
	"time"
)

// Full jitter: every wait below the bound is as likely as any other.
func TestBackoffDoublesItsBoundUpToTheMost(t *testing.T) {
	for _, c := range []struct {
		tries              int
		least, most, bound time.Duration
	}{
		{1, 250 * time.Millisecond, 10 * time.Second, 250 * time.Millisecond},
		{2, 250 * time.Millisecond, 10 * time.Second, 500 * time.Millisecond},
		{3, 250 * time.Millisecond, 10 * time.Second, time.Second},
		{6, 250 * time.Millisecond, 10 * time.Second, 8 * time.Second},
		{7, 250 * time.Millisecond, 10 * time.Second, 10 * time.Second},
		{1000, 250 * time.Millisecond, 10 * time.Second, 10 * time.Second},
		{2, 5 * time.Second, 10 * time.Second, 10 * time.Second},
		{1, time.Minute, 10 * time.Second, time.Minute}, // only MinBackoff is set
		{5, time.Minute, 10 * time.Second, time.Minute},
		{100, 3 * time.Second, math.MaxInt64, math.MaxInt64},
	} {
		const draws = 2000
		var quarters [4]int
		for range draws {
			wait := backoff(c.tries, c.least, c.most)
			if wait < 0 || wait >= c.bound {
				t.Fatalf("after try %d the wait is %v, the bound %v", c.tries, wait, c.bound)
			}
			quarters[int(float64(wait)/float64(c.bound)*4)]++
		}
		for i, n := range quarters {
			if n < draws/4*3/4 || n > draws/4*5/4 { // 6 standard deviations
				t.Errorf("after try %d (bound %v) quarter %d has %d of %d waits", c.tries, c.bound, i+1, n, draws)
			}
		}
	}
}

func TestBackoffOfOneNanosecondDoesNotFail(t *testing.T) {
	if wait := backoff(3, 1, 1); wait != 0 {
		t.Errorf("the wait is %v", wait)
	}
}
