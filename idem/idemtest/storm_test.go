package idemtest_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/idem/idemhttp"
	"github.com/pgidem/pgidem/idem/idemtest"
	"github.com/pgidem/pgidem/internal/testdb"
)

// faultsOf are what a storm finds; t fails where it could not be sent.
func faultsOf(t *testing.T, s idemtest.Storm) (idemtest.Report, idemtest.Faults) {
	t.Helper()
	report, err := s.Check(t.Context())
	t.Log(report)
	var faults idemtest.Faults
	if err != nil && !errors.As(err, &faults) {
		t.Fatal(err)
	}
	for _, fault := range faults {
		t.Log(fault)
	}
	return report, faults
}

// Articles 000, 003 and 004: a look, a gap, a write. Under a second on a quiet machine; the bounds here are for a busy one.
func TestStormFindsCheckThenAct(t *testing.T) {
	t.Parallel()
	for name, gap := range map[string]time.Duration{"20 ms": 20 * time.Millisecond, "2 ms": 2 * time.Millisecond, "none": 0} {
		t.Run("gap "+name, func(t *testing.T) {
			n := &naive{gap: gap}
			s := idemtest.Storm{Handler: n, Request: newCharge, Effects: n.count}
			if gap == 0 {
				s.Budget, s.Rounds = time.Minute, 1<<30 // chance decides
			}
			report, faults := faultsOf(t, s)
			if report.Firsts <= report.Keys || len(faults) != 2 ||
				!strings.Contains(faults[0], "as if it were new") || !strings.Contains(faults[0], "pays twice") ||
				!strings.Contains(faults[1], "Customers pay more than once") {
				t.Errorf("found %q", faults)
			}
			if gap > 0 && (report.Rounds > 3 || report.Duration > 5*time.Second) {
				t.Errorf("only found in %d rounds and %v", report.Rounds, report.Duration)
			}
		})
	}
}

// The same in the database, where the gap is a round trip.
func TestStormFindsCheckThenActInSQL(t *testing.T) {
	t.Parallel()
	b := setup(t)
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := keyOf(r)
		var id int64
		if err := b.pool.QueryRow(r.Context(), "SELECT id FROM charges WHERE key = $1", key).Scan(&id); err == nil {
			replayed(w, id)
			return
		}
		id, err := insert(r.Context(), key, b.pool)
		if err != nil {
			t.Error(err)
		}
		created(w, id)
	})
	report, faults := faultsOf(t, idemtest.Storm{Handler: h, Request: newCharge, Effects: b.charges})
	if len(faults) == 0 || !strings.Contains(faults[0], "as if it were new") || report.Rounds > 3 {
		t.Errorf("found %q", faults)
	}
}

// Each mistake is found, and nothing else is told.
func TestStormNamesEachFault(t *testing.T) {
	t.Parallel()
	fails := func(status int, header ...string) func(http.ResponseWriter, int64) {
		return func(w http.ResponseWriter, _ int64) {
			for i := 0; i < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			http.Error(w, "duplicate key value violates unique constraint", status)
		}
	}
	// replay is right, but for one header or the body.
	replay := func(name, value, body string) func(http.ResponseWriter, int64) {
		return func(w http.ResponseWriter, _ int64) {
			w.Header().Set("Idempotent-Replayed", "true")
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Location", "/charges/1")
			w.Header().Set(name, value)
			w.WriteHeader(http.StatusCreated)
			_, _ = w.Write([]byte(body))
		}
	}
	first := replay("Idempotent-Replayed", "", `{"id":1}`)
	for name, c := range map[string]struct {
		shop     *shop
		effects  bool
		patience time.Duration
		want     []string // words of the faults
	}{
		"no key at all":                      {shop: &shop{keyOf: unique()}, want: []string{"as if it were new"}},
		"no key at all, effects counted":     {shop: &shop{keyOf: unique()}, effects: true, want: []string{"pays twice", "48 new effects for 8 keys. Customers pay"}},
		"duplicates are not marked":          {shop: &shop{duplicate: created}, want: []string{"without Idempotent-Replayed: true"}},
		"duplicates are not marked, counted": {shop: &shop{duplicate: created}, effects: true, want: []string{"nobody has paid twice yet"}},
		"duplicates are marked false": {
			shop: &shop{duplicate: func(w http.ResponseWriter, id int64) { w.Header().Set("Idempotent-Replayed", "false"); created(w, id) }},
			want: []string{"as if it were new"},
		},
		"another body is replayed with the number as text": {
			shop: &shop{first: first, duplicate: replay("Location", "/charges/1", `{"id":"1"}`)},
			want: []string{`answered with 201 to /charges/1 {"id":1} and with 201 to /charges/1 {"id":"1"}`},
		},
		"another status is replayed": {
			shop: &shop{duplicate: fails(http.StatusOK, "Idempotent-Replayed", "true")},
			want: []string{"two receipts"},
		},
		"another place is replayed": {
			shop: &shop{first: first, duplicate: replay("Location", "/charges/2", `{"id":1}`)}, want: []string{"to /charges/2"},
		},
		"another type is replayed": {
			shop: &shop{first: first, duplicate: replay("Content-Type", "text/html", `{"id":1}`)}, want: []string{"text/html 201"},
		},
		"the effect happens twice, and all answers are right": {
			shop: &shop{effects: 2}, effects: true, want: []string{"16 new effects for 8 keys. Customers pay more than once"},
		},
		"no fault": {shop: &shop{}, effects: true},
		"the constraint saved the money, and duplicates get 500": {
			shop: &shop{duplicate: fails(http.StatusInternalServerError)}, effects: true,
			want: []string{"answered with 500 duplicate key value violates unique constraint, which is neither"},
		},
		"409 does not say when to come back": {shop: &shop{duplicate: fails(http.StatusConflict)}, want: []string{"without Retry-After"}},
		"503 does not say when to come back": {shop: &shop{duplicate: fails(http.StatusServiceUnavailable)}, want: []string{"without Retry-After"}},
		"422 for an equal request":           {shop: &shop{duplicate: fails(http.StatusUnprocessableEntity)}, want: []string{"answered with 422"}},
		"duplicates are hung up on": {
			shop: &shop{duplicate: func(http.ResponseWriter, int64) { panic(http.ErrAbortHandler) }},
			want: []string{"answered with nothing"},
		},
		"the key looks busy for ever": {
			shop:     &shop{duplicate: fails(http.StatusConflict, "Retry-After", "1")},
			patience: 2 * time.Second,
			want:     []string{"never answered, at last with 409"},
		},
		"the receipt is somebody else's": {
			shop: &shop{charges: map[string]int64{"": 1}, keyOf: func(*http.Request) string { return "" }},
			want: []string{"new, and yet every answer says Idempotent-Replayed: true"},
		},
		"the path is wrong": {
			shop: &shop{first: fails(http.StatusNotFound), duplicate: fails(http.StatusNotFound)}, effects: true,
			want: []string{"Is it the right path"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := idemtest.Storm{Handler: c.shop, Request: newCharge, Patience: c.patience, Rounds: 2}
			if c.effects {
				s.Effects = c.shop.count
			}
			_, faults := faultsOf(t, s)
			if len(faults) != len(c.want) {
				t.Fatalf("%d faults, want %d", len(faults), len(c.want))
			}
			for i, want := range c.want {
				if !strings.Contains(faults[i], want) {
					t.Errorf("%q lacks %q", faults[i], want)
				}
			}
		})
	}
}

// An order that was answered 201 and is not there.
func TestStormFindsTheEffectThatDidNotHappen(t *testing.T) {
	t.Parallel()
	s := &shop{}
	_, faults := faultsOf(t, idemtest.Storm{Handler: s, Request: newCharge, Effects: func(context.Context) (int, error) { return 7, nil }})
	if len(faults) != 1 || !strings.Contains(faults[0], "0 new effects for 8 keys. Customers are told") {
		t.Errorf("found %q", faults)
	}
}

func TestStormPassesTheMiddleware(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for name, handler := range b.modes() {
		for waits, policy := range map[string]idem.Policy{"duplicates wait": {}, "duplicates do not wait": {Wait: -1}} {
			t.Run(name+"/"+waits, func(t *testing.T) {
				report := idemtest.Storm{Handler: handler(b.m.With(policy), nil), Request: newCharge, Effects: b.charges, Rounds: 10}.Run(t)
				if report.Firsts != report.Keys || report.Others != 0 || report.Replays < report.Keys {
					t.Error(report)
				}
			})
		}
	}
}

// Two Stores share no queue in memory, as two processes do not: the database alone decides.
func TestStormPassesTwoProcesses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	second := &idem.Store{NoCoalescing: testdb.NoCoalescing(), Pool: b.pool}
	t.Cleanup(second.Close)
	for name, handler := range b.modes() {
		t.Run(name, func(t *testing.T) {
			one, two := handler(b.m, nil), handler(newMiddleware(second), nil)
			turn := make(chan http.Handler, 2)
			turn <- one
			turn <- two
			idemtest.Storm{Request: newCharge, Effects: b.charges, Rounds: 10, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				h := <-turn
				turn <- h
				h.ServeHTTP(w, r)
			})}.Run(t)
		})
	}
}

// A refusal is an answer: it is replayed, and nobody asks the card again.
func TestStormPassesARefusalThatIsReplayed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	h := route(b.m.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		lease, _ := idemhttp.LeaseFrom(r.Context())
		if _, err := insert(r.Context(), lease.DownstreamKey("decline"), b.pool); err != nil {
			t.Error(err)
		}
		http.Error(w, "declined", http.StatusPaymentRequired)
	})))
	s := idemtest.Storm{Handler: h, Request: newCharge, Effects: b.charges, Status: http.StatusPaymentRequired, Rounds: 3}
	s.Run(t)
	s.Status = 0
	if _, faults := faultsOf(t, s); len(faults) == 0 {
		t.Error("402 is taken for success")
	}
}

// unique is the key of a handler that has never heard of keys.
func unique() func(*http.Request) string {
	return func(*http.Request) string { return idemhttp.NewKey() }
}
