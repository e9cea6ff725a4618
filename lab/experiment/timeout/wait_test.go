package timeout

import (
	"slices"
	"testing"
	"time"
)

func TestWaiting(t *testing.T) {
	t.Parallel()
	b := setup(t)
	few := &Timeout{Second: 100 * time.Millisecond, Workers: 4, Strangers: 6}
	r := few.result()
	if err := few.waits(t.Context(), b.stage, r); err != nil {
		t.Fatal(err)
	}
	t.Run("DuplicatesThatWaitHoldEveryWorkerUntilTheProxyCutsThem", func(t *testing.T) {
		waiting := r.of(true)
		if len(waiting) != 3 {
			t.Fatalf("%d designs wait, want 3", len(waiting))
		}
		for _, w := range waiting {
			if w.Duplicates != 8 || w.Workers != 3 || w.Conflicts != 0 || w.Cut != 8 || w.Charges != 1 {
				t.Errorf("%+v, want 3 workers held, 8 duplicates cut, one charge", w)
			}
			if w.Strangers != 6 || w.Served != 0 {
				t.Errorf("%+v, want none of 6 other customers served", w)
			}
		}
		if w := r.wait(insertWaits, true); w.DatabaseConns != 4 {
			t.Errorf("%+v, want a connection to the database for each of 4 workers", w)
		}
	})
	t.Run("DuplicatesThatAreAnswered409HoldNothingAndGetTheirAnswerLater", func(t *testing.T) {
		told := r.of(false)
		if len(told) != 2 {
			t.Fatalf("%d designs answer 409, want 2", len(told))
		}
		for _, w := range told {
			if w.Workers != 0 || w.Conns != 0 || w.Served == 0 || w.Cut != 0 || w.Conflicts != 8 || w.Replays != 8 || w.Charges != 1 {
				t.Errorf("%+v, want nothing held, 8 times 409 and 8 replays, one charge", w)
			}
		}
		if w := r.wait(handler, false); w.DatabaseConns != 0 {
			t.Errorf("%+v: a lease holds no connection to the database", w)
		}
	})
	t.Run("AWorkerLessThanAllLeavesOneForTheOthers", func(t *testing.T) {
		numbers := map[int]int{}
		for _, w := range r.Fewer {
			numbers[w.Duplicates]++
			switch {
			case !w.Waits && w.Workers != 0, w.Waits && w.Workers != w.Duplicates:
				t.Errorf("%+v holds other workers than its duplicates", w)
			case w.Waits && w.Duplicates == 3 && w.Served != 0:
				t.Errorf("%+v: somebody was served without a worker", w)
			case (!w.Waits || w.Duplicates < 3) && w.Served == 0:
				t.Errorf("%+v: nobody was served, and there was a worker", w)
			}
		}
		if len(numbers) != 4 || numbers[0] != 2 || numbers[1] != 2 || numbers[2] != 2 || numbers[3] != 2 {
			t.Errorf("rows by duplicates: %v", numbers)
		}
	})
	wantAll(t, r.waitFindings())
	b.wantShown(t, 1)
}

func TestFewerDuplicatesGoUpToAllWorkers(t *testing.T) {
	t.Parallel()
	for workers, want := range map[int][]int{2: {0, 1}, 4: {0, 1, 2, 3}, 8: {0, 2, 4, 6, 7}, 50: {0, 12, 25, 37, 48, 49}} {
		if got := (&Timeout{Workers: workers}).fewer(); !slices.Equal(got, want) {
			t.Errorf("%d workers: %v, want %v", workers, got, want)
		}
	}
}
