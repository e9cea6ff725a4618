package main

import (
	"context"
	"net/http"
	"strings"

	"github.com/pgidem/pgidem/idem/idemhttp"
)

type tenantContext struct{}

// authenticated lets through who has a token, and says whose it is.
func (a *api) authenticated(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		tenant, known := a.tokens[token]
		if !bearer || !known {
			w.Header().Set("WWW-Authenticate", "Bearer")
			writeError(w, http.StatusUnauthorized, "no token, or one that is not known")
			return
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), tenantContext{}, tenant)))
	})
}

// tenantOf is whose request it is, as authentication found.
func tenantOf(r *http.Request) (string, error) {
	tenant, ok := r.Context().Value(tenantContext{}).(string)
	if !ok {
		return "", idemhttp.ErrUnauthenticated
	}
	return tenant, nil
}
