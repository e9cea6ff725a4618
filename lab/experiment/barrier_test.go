package experiment

import (
	"testing"

	"github.com/pgidem/pgidem/lab/design"
)

func TestEightWorkersAtABarrier(t *testing.T) {
	b := setup(t)
	for _, c := range []struct {
		name   string
		design func(t *testing.T) design.Design
		once   bool
	}{
		{"naive workers charge again", func(*testing.T) design.Design { return design.CheckThenInsert{Pool: b.pool, Delay: delay} }, false},
		{"processes with Store.Do charge once", b.do, true},
		{"processes with Store.Hold charge once", b.hold, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var workers []design.Design
			for range 8 {
				workers = append(workers, c.design(t))
			}
			for range 3 {
				r, err := Barrier{Workers: workers}.Run(t.Context(), b.pool)
				if err != nil {
					t.Fatal(err)
				}
				if r.Requests != 8 || r.Payments != 1 || r.AmountCents != int64(49_00*r.Charges) {
					t.Errorf("%d requests, %d payments, %d charges of %d cents", r.Requests, r.Payments, r.Charges, r.AmountCents)
				}
				if p := problems("barrier", r); len(p) > 0 || c.once && r.Charges != 1 {
					t.Errorf("%d charges: %q", r.Charges, p)
				}
			}
		})
	}
}
