package mismatch

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"github.com/jackc/pgx/v5"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/idem/idemhttp"
)

// middleware is the shop with the product's middleware.
func middleware(store *idem.Store) http.Handler {
	keys := &idemhttp.Middleware{Store: store, Tenant: idemhttp.SingleTenant}
	mux := http.NewServeMux()
	for kind, endpoint := range endpoints {
		mux.Handle(endpoint, keys.HandlerTx(func(w http.ResponseWriter, r *http.Request, tx pgx.Tx) error {
			var o order
			if err := json.NewDecoder(r.Body).Decode(&o); err != nil {
				return err
			}
			id, err := move(r.Context(), tx, r.Header.Get(idemhttp.HeaderKey), kind, o)
			if err != nil {
				return err
			}
			send(w, http.StatusOK, receipt(id), false)
			return nil
		}))
	}
	return mux
}

// plain is the shop with Store.Do in a handler of its own, as for another protocol than HTTP.
func plain(store *idem.Store) http.Handler {
	mux := http.NewServeMux()
	for kind, endpoint := range endpoints {
		mux.HandleFunc(endpoint, func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			key := idem.Key{
				Tenant: "shop", Endpoint: endpoint, ID: r.Header.Get(idemhttp.HeaderKey), Fingerprint: idem.FingerprintJSON(body),
			}
			resp, err := store.Do(r.Context(), key, func(ctx context.Context, tx pgx.Tx) (*idem.Response, error) {
				var o order
				if err := json.Unmarshal(body, &o); err != nil {
					return nil, err
				}
				id, err := move(ctx, tx, key.ID, kind, o)
				return &idem.Response{Status: http.StatusOK, Body: receipt(id)}, err
			})
			switch {
			case errors.Is(err, idem.ErrMismatch):
				http.Error(w, err.Error(), http.StatusUnprocessableEntity)
			case err != nil:
				http.Error(w, err.Error(), http.StatusInternalServerError)
			default:
				send(w, resp.Status, resp.Body, resp.Replayed)
			}
		})
	}
	return mux
}
