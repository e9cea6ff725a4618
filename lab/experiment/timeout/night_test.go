package timeout

import (
	"net/http"
	"testing"
	"time"

	"github.com/pgidem/pgidem/idem/idemhttp"
)

func TestNight(t *testing.T) {
	t.Parallel()
	b := setup(t)
	few := &Timeout{Customers: 10, Second: 50 * time.Millisecond}
	r := few.result()
	if err := few.nights(t.Context(), b.stage, r); err != nil {
		t.Fatal(err)
	}
	t.Run("CheckThenActChargesTwiceUnderOneKey", func(t *testing.T) {
		n := r.night(checkThenAct, oneKey)
		if n.Customers != 10 || n.PaidTwice == 0 || n.Charges < 10+n.PaidTwice || n.Cents != int64(n.Charges)*49_00 {
			t.Errorf("%+v, want customers who paid twice", n)
		}
	})
	t.Run("KeyMadeInTheLoopChargesTwiceAtACorrectServer", func(t *testing.T) {
		if n := r.night(handler, aKeyATry); n.Customers != 10 || n.PaidTwice == 0 || n.Charges < 10+n.PaidTwice {
			t.Errorf("%+v, want customers who paid twice", n)
		}
	})
	t.Run("OneKeyAtACorrectServerChargesOnce", func(t *testing.T) {
		if n := r.night(handler, oneKey); n.Customers != 10 || n.PaidTwice != 0 || n.Charges != 10 || n.Answered == 0 {
			t.Errorf("%+v, want 10 charges", n)
		}
	})
	wantAll(t, r.nightFindings())
	b.wantShown(t, 3)
}

// keys notes under which keys it is asked.
type keys struct{ seen []string }

func (k *keys) RoundTrip(r *http.Request) (*http.Response, error) {
	k.seen = append(k.seen, r.Header.Get(idemhttp.HeaderKey))
	return &http.Response{StatusCode: http.StatusCreated, Body: http.NoBody}, nil
}

func TestMintMakesAKeyForEachTryAndLeavesTheRequestAlone(t *testing.T) {
	t.Parallel()
	seen := new(keys)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://shop.example", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set(idemhttp.HeaderKey, "mine")
	for range 2 {
		if _, err := (mint{seen}).RoundTrip(r); err != nil {
			t.Fatal(err)
		}
	}
	if len(seen.seen) != 2 || seen.seen[0] == seen.seen[1] || seen.seen[0] == "mine" || r.Header.Get(idemhttp.HeaderKey) != "mine" {
		t.Errorf("sent under %q, the request has %q", seen.seen, r.Header.Get(idemhttp.HeaderKey))
	}
}
