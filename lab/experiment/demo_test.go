package experiment

import (
	"testing"
)

func TestDemoShowsWhatItIsFor(t *testing.T) {
	b := setup(t)
	shown := map[string]int{}
	ends := 0
	d := Demo{Payments: 10, Copies: 10, Workers: 20, Delay: delay, Progress: func(name string, requests int) (sent, ended func()) {
		shown[name] = requests
		return func() {}, func() { ends++ }
	}}
	result, err := d.Run(t.Context(), b.pool)
	if err != nil {
		t.Fatal(err)
	}
	if p := result.Problems(); len(p) > 0 {
		t.Error(p)
	}
	if len(result.Storm) != 4 || len(result.Barrier) != 2 || len(result.Barrier[0]) != 3 {
		t.Errorf("%d storms, %d barriers; want 4 and 2 of 3 trials", len(result.Storm), len(result.Barrier))
	}
	if result.Conns != 20 || result.Workers != 20 || result.Copies != 10 || result.DelaySeconds != delay.Seconds() {
		t.Errorf("the result tells of another experiment: %+v", result)
	}
	if len(shown) != 6 || ends != 6 || shown["storm: Store.Hold"] != 100 || shown["barrier: Store.Do"] != 24 {
		t.Errorf("progress was told %v and of %d ends", shown, ends)
	}
}
