package idemtest_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/pgidem/pgidem/gen"
	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/idem/idemhttp"
	"github.com/pgidem/pgidem/idem/idemtest"
	"github.com/pgidem/pgidem/internal/testdb"
)

func newKey(id string) idem.Key {
	return idem.Key{Tenant: "*", Endpoint: "POST /charges", ID: id, Fingerprint: idem.AnyRequest}
}

// claim takes a key in lease mode.
func (b *bundle) claim(t *testing.T, store *idem.Store, key idem.Key) *idem.Lease {
	t.Helper()
	lease, _, err := store.Claim(t.Context(), key)
	if err != nil || lease == nil {
		t.Fatalf("%v, %v", lease, err)
	}
	return lease
}

func TestLapsedKeyGoesByItsPolicy(t *testing.T) {
	t.Parallel()
	b := setup(t)
	rerun := b.store.With(idem.Policy{Stale: idem.StaleRerun})
	key := newKey("k")
	silent := b.claim(t, b.store, key)
	if _, _, err := rerun.Claim(t.Context(), key); !errors.Is(err, idem.ErrInFlight) {
		t.Errorf("while it is held: %v", err)
	}
	if err := idemtest.Lapse(t.Context(), b.pool, key); err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.store.Claim(t.Context(), key); !errors.Is(err, idem.ErrOutcomeUnknown) {
		t.Errorf("under StaleRefuse: %v", err)
	}
	next := b.claim(t, rerun, key)
	if next.Fence() <= silent.Fence() {
		t.Errorf("fence %d after %d", next.Fence(), silent.Fence())
	}
	if err := silent.Complete(t.Context(), nil); !errors.Is(err, idem.ErrLeaseLost) {
		t.Errorf("the silent holder completes: %v", err)
	}
}

// Nobody has taken it, so the holder that wakes up is still the holder.
func TestLapsedKeyIsItsHoldersUntilItIsTaken(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for name, wake := range map[string]func(*idem.Lease) error{
		"extends":   func(l *idem.Lease) error { return l.Extend(t.Context()) },
		"completes": func(l *idem.Lease) error { return l.Complete(t.Context(), &idem.Response{Status: 201}) },
	} {
		t.Run(name, func(t *testing.T) {
			lease := b.claim(t, b.store, newKey(name))
			if err := idemtest.Lapse(t.Context(), b.pool, newKey(name)); err != nil {
				t.Fatal(err)
			}
			if err := wake(lease); err != nil {
				t.Error(err)
			}
		})
	}
}

// While a handler runs behind the middleware: a pod that a deploy has frozen.
func TestLapseUnderARunningHandler(t *testing.T) {
	t.Parallel()
	b := setup(t)
	elsewhere := &idem.Store{NoCoalescing: testdb.NoCoalescing(), Pool: b.pool} // another pod
	t.Cleanup(elsewhere.Close)
	h := b.lease(newMiddleware(elsewhere), nil)
	frozen := route(b.m.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		idemhttp.LeaseFrom(r.Context())
		if err := idemtest.Lapse(r.Context(), b.pool, newKey("k")); err != nil {
			t.Error(err)
		}
		again := httptest.NewRecorder()
		h.ServeHTTP(again, newCharge("k"))
		if again.Code != http.StatusConflict || !strings.Contains(again.Body.String(), "outcome-unknown") {
			t.Errorf("meanwhile: %d %s", again.Code, again.Body)
		}
		created(w, 1)
	})))
	first := httptest.NewRecorder()
	frozen.ServeHTTP(first, newCharge("k"))
	if first.Code != http.StatusCreated {
		t.Errorf("%d %s", first.Code, first.Body)
	}
	b.wantOneAnswer(t, h, "k", first.Body.String())
}

func (b *bundle) wantOneAnswer(t *testing.T, h http.Handler, key, want string) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, newCharge(key))
	if w.Body.String() != want || w.Header().Get("Idempotent-Replayed") != "true" {
		t.Errorf("%d %s, want a replay of %s", w.Code, w.Body, want)
	}
}

func TestLapseSaysWhatAKeyIsThatIsNotHeld(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for state, end := range map[string]func(*idem.Lease) error{
		"abandoned": func(l *idem.Lease) error { return l.Abandon(t.Context()) },
		"released":  func(l *idem.Lease) error { return l.Release(t.Context()) },
		"committed": func(l *idem.Lease) error { return l.Complete(t.Context(), nil) },
		"failed":    func(l *idem.Lease) error { return l.Complete(t.Context(), &idem.Response{Status: 402, Failed: true}) },
	} {
		t.Run(state, func(t *testing.T) {
			if err := end(b.claim(t, b.store, newKey(state))); err != nil {
				t.Fatal(err)
			}
			err := idemtest.Lapse(t.Context(), b.pool, newKey(state))
			if want := "idemtest: lapse POST /charges of tenant *: the key is " + state + ", not held"; err == nil || err.Error() != want {
				t.Errorf("%v, want %s", err, want)
			}
		})
	}
	if err := idemtest.Lapse(t.Context(), b.pool, newKey("never")); !errors.Is(err, idem.ErrNotFound) {
		t.Error(err)
	}
}

// db is whatever runs statements.
func TestLapseInATransactionIsUndoneWithIt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.claim(t, b.store, newKey("k"))
	tx, err := b.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := idemtest.Lapse(t.Context(), tx, newKey("k")); err != nil {
		t.Error(err)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := idemtest.Lapse(t.Context(), b.pool, newKey("k")); err != nil {
		t.Error(err)
	}
}

var _ gen.DBTX = (*pgx.Conn)(nil)
