package experiment

import (
	"testing"

	"github.com/pgidem/pgidem/lab/payments"
)

func TestDemoShowsWhatItIsFor(t *testing.T) {
	b := setup(t)
	shown := map[string]int{}
	ends := 0
	programs, err := payments.Build(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = programs.Close() })
	d := Demo{Programs: programs, Payments: 10, Copies: 10, Workers: 20, Delay: delay, Progress: func(name string, requests int) (sent, ended func()) {
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
	if len(result.Storm) != 4 || len(result.Night) != 2 || len(result.Barrier) != 2 || len(result.Barrier[0]) != 3 {
		t.Errorf("%d storms, %d nights, %d barriers; want 4, 2 and 2 of 3 trials", len(result.Storm), len(result.Night), len(result.Barrier))
	}
	if result.Workers != 20 || result.Copies != 10 || result.DelaySeconds != delay.Seconds() {
		t.Errorf("the result tells of another experiment: %+v", result)
	}
	if n := result.Night[0]; n.PaidTwice == 0 || result.Night[1].PaidTwice != 0 || result.Night[1].Charged+result.Night[1].Replays != n.Payments {
		t.Errorf("the nights show something else: %+v", result.Night)
	}
	if len(shown) != 8 || ends != 8 || shown["storm: pgidem Handler (charges)"] != 100 || shown["barrier: Store.Do"] != 24 {
		t.Errorf("progress was told %v and of %d ends", shown, ends)
	}
}
