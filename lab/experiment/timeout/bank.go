package timeout

import (
	"context"
	_ "embed"
	"encoding/json"
	"net/http"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/idem/idemhttp"
	"github.com/pgidem/pgidem/lab/design"
)

//go:embed charge.sql
var chargeSQL string

// bank takes the money of every payment at once, except for one, which takes until it is let go.
type bank struct {
	pool  *pgxpool.Pool
	slow  string        // the key of that one
	begun chan struct{} // closed when it is in hand
	land  chan struct{} // closed to let it go

	begin, letGo sync.Once
}

func newBank(pool *pgxpool.Pool, slow string) *bank {
	return &bank{pool: pool, slow: slow, begun: make(chan struct{}), land: make(chan struct{})}
}

// wait is what a charge takes.
func (b *bank) wait(ctx context.Context, key string) error {
	if key != b.slow {
		return nil
	}
	b.begin.Do(func() { close(b.begun) })
	select {
	case <-b.land:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// lands lets the slow payment go.
func (b *bank) lands() { b.letGo.Do(func() { close(b.land) }) }

// insertWaits handles payments as article 000 does: claim, charge and answer are one transaction, and the INSERT of a duplicate
// waits until that has ended.
func (b *bank) insertWaits() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) {
		p, err := received(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		at := func(design.Point) { _ = b.wait(r.Context(), p.Key) } // a client that has gone fails at the next statement
		o, err := design.Transaction{Pool: b.pool, At: at}.Pay(r.Context(), p)
		switch {
		case err != nil:
			http.Error(w, err.Error(), http.StatusInternalServerError)
		case o.Kind == design.InFlight:
			w.WriteHeader(http.StatusConflict)
		default:
			if o.Kind == design.Replayed {
				w.Header().Set(idemhttp.HeaderReplayed, "true")
			}
			created(w, o.ChargeID)
		}
	})
	return mux
}

// atomic handles payments in the product's atomic mode: the charge is a row.
func (b *bank) atomic(policy idem.Policy) (h http.Handler, closed func()) {
	keys, closed := b.middleware(policy)
	mux := http.NewServeMux()
	mux.Handle("POST "+path, keys.HandlerTx(func(w http.ResponseWriter, r *http.Request, tx pgx.Tx) error {
		p, err := received(r)
		if err != nil {
			return err
		}
		if err := b.wait(r.Context(), p.Key); err != nil {
			return err
		}
		var id int64
		if err := tx.QueryRow(r.Context(), chargeSQL, p.Key, p.Customer, p.AmountCents).Scan(&id); err != nil {
			return err
		}
		created(w, id)
		return nil
	}))
	return mux, closed
}

// leased handles payments in the product's lease mode: the charge is a processor's.
func (b *bank) leased(policy idem.Policy) (h http.Handler, closed func()) {
	keys, closed := b.middleware(policy)
	mux := http.NewServeMux()
	mux.Handle("POST "+path, keys.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		lease, _ := idemhttp.LeaseFrom(r.Context())
		p, err := received(r)
		if err == nil {
			err = b.wait(r.Context(), p.Key)
		}
		var id int64
		if err == nil {
			id, err = design.Processor{Pool: b.pool}.Charge(r.Context(), lease.DownstreamKey("charge"), p)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		created(w, id)
	})))
	return mux, closed
}

func (b *bank) middleware(policy idem.Policy) (*idemhttp.Middleware, func()) {
	store := &idem.Store{Pool: b.pool, Policy: policy}
	return &idemhttp.Middleware{Store: store, Tenant: idemhttp.SingleTenant}, store.Close
}

func created(w http.ResponseWriter, id int64) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	_ = json.NewEncoder(w).Encode(map[string]int64{"id": id})
}
