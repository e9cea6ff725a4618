package timeout

import (
	"context"
	"fmt"
	"net/http"

	"github.com/pgidem/pgidem/idem/idemhttp"
	"github.com/pgidem/pgidem/lab/experiment"
	"github.com/pgidem/pgidem/lab/payments"
)

// NightRow is what became of customers whose client gives up after 10 seconds while the processor takes 11.
type NightRow struct {
	Server    string `json:"server"`
	Client    string `json:"client"`
	Customers int    `json:"customers"`
	PaidTwice int    `json:"paid_twice"` // customers, or more than twice
	Charges   int    `json:"charges"`
	Answered  int    `json:"answered"` // customers who were told of a charge
	Cents     int64  `json:"amount_cents"`
}

// What findings speak of.
const (
	checkThenAct = "check-then-act"
	handler      = "pgidem Handler"
	oneKey       = "one key"
	aKeyATry     = "a new key for each try"
)

// tries are an SDK's: the first, and two more.
const tries = 3

// nights sends the same night through article 004's handler, and through the product with the SDK that it had at first and with a
// client that makes the key once.
func (t *Timeout) nights(ctx context.Context, s stage, r *Result) error {
	minting := func(network http.RoundTripper) http.RoundTripper { return mint{network} }
	for _, n := range []struct {
		server, guard, client string
		wire                  func(http.RoundTripper) http.RoundTripper
	}{
		{checkThenAct, "check-then-act", oneKey, nil},
		{handler, "idem", aKeyATry, minting},
		{handler, "idem", oneKey, nil},
	} {
		step, ended := s.bench.Progress("night: "+n.server+", "+shortClient(n.client), t.Customers)
		night, err := experiment.SlowNight{
			Programs: s.programs, Customers: t.Customers, Second: t.Second, Guard: n.guard, Tries: tries, Wire: n.wire, Sent: step,
		}.Run(ctx, s.pool, payments.Route{Label: n.server, Path: "/charges"})
		ended()
		if err != nil {
			return fmt.Errorf("night, %s, %s: %w", n.server, n.client, err)
		}
		r.Nights = append(r.Nights, NightRow{
			Server: n.server, Client: n.client, Customers: night.Payments, PaidTwice: night.PaidTwice, Charges: night.Charges,
			Answered: night.Charged + night.Replays, Cents: night.AmountCents,
		})
	}
	return nil
}

func shortClient(client string) string {
	if client == aKeyATry {
		return "new keys"
	}
	return client
}

// mint is the SDK that makes a fresh key inside its loop of tries: whatever key the payment has, each try goes out under another.
type mint struct{ network http.RoundTripper }

func (m mint) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set(idemhttp.HeaderKey, idemhttp.NewKey())
	return m.network.RoundTrip(r)
}
