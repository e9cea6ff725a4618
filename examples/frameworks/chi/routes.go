package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
	"github.com/jackc/pgx/v5"

	"github.com/pgidem/pgidem/examples/frameworks/internal/shop"
	"github.com/pgidem/pgidem/idem/idemhttp"
)

// routes are the program. The keys stand around handlers, by With or Method: what Use adds runs before chi knows the route.
//
// chi 5.3 and newer leave the whole pattern in r.Pattern, which names the endpoint. Older ones need
//
//	Endpoint: func(r *http.Request) string { return r.Method + " " + chi.RouteContext(r.Context()).RoutePattern() }
func routes(s *shop.Shop) http.Handler {
	r := chi.NewRouter()
	r.Use(middleware.Recoverer, authenticated(s))
	r.Route("/v1/orders/{order}", func(r chi.Router) {
		r.Method(http.MethodPost, "/items", s.Keys.HandlerTx(add(s)))
		r.With(s.Keys.Handler).Post("/charges", charge(s))
		r.With(s.Keys.Handler).Get("/items", count(s)) // a safe method: it passes
	})
	return r
}

func authenticated(s *shop.Shop) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r, ok := s.Authenticate(r)
			if !ok {
				http.Error(w, "no token, or one that is not known", http.StatusUnauthorized)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}

// add is atomic mode: item, key and answer commit together.
func add(s *shop.Shop) idemhttp.TxHandlerFunc {
	return func(w http.ResponseWriter, r *http.Request, tx pgx.Tx) error {
		var item shop.Item
		if err := json.NewDecoder(r.Body).Decode(&item); err != nil {
			http.Error(w, "the body is no item", http.StatusBadRequest)
			return nil
		}
		tenant, err := shop.Tenant(r)
		if err != nil {
			return err
		}
		order := chi.URLParam(r, "order")
		id, err := s.Add(r.Context(), tx, tenant, order, item)
		if errors.Is(err, shop.ErrRefused) {
			http.Error(w, "refused", http.StatusPaymentRequired)
			return nil
		}
		if err != nil {
			return err // 500; rolled back, and the key is free
		}
		http.SetCookie(w, &http.Cookie{Name: "last", Value: order})
		w.Header().Set("Location", fmt.Sprintf("/v1/orders/%s/items/%d", order, id))
		write(w, http.StatusCreated, shop.Added{ID: id, Order: order, Item: item})
		return nil
	}
}

// charge is lease mode: the call goes out under the lease's downstream key.
func charge(s *shop.Shop) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var bill shop.Bill
		if err := json.NewDecoder(r.Body).Decode(&bill); err != nil {
			http.Error(w, "the body is no bill", http.StatusBadRequest)
			return
		}
		order := chi.URLParam(r, "order")
		lease, _ := idemhttp.LeaseFrom(r.Context())
		id, err := s.Charge(r.Context(), lease.DownstreamKey("charge"), order, bill.Cents)
		switch {
		case errors.Is(err, shop.ErrRefused):
			http.Error(w, "refused", http.StatusPaymentRequired)
		case err != nil: // it may have happened
			http.Error(w, "it is not known whether this was charged", http.StatusInternalServerError)
		default:
			http.SetCookie(w, &http.Cookie{Name: "last", Value: order})
			w.Header().Set("Location", "/v1/charges/"+id)
			write(w, http.StatusCreated, shop.Charged{ID: id, Order: order, Cents: bill.Cents})
		}
	}
}

func count(s *shop.Shop) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		tenant, err := shop.Tenant(r)
		if err != nil {
			http.Error(w, "whose order is it?", http.StatusUnauthorized)
			return
		}
		n, err := s.Items(r.Context(), tenant, chi.URLParam(r, "order"))
		if err != nil {
			http.Error(w, "the items cannot be counted", http.StatusInternalServerError)
			return
		}
		write(w, http.StatusOK, shop.Count{Items: n})
	}
}

func write(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // a client that has gone comes back for it
}
