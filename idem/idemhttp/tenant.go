package idemhttp

import (
	"context"
	"errors"
	"net/http"
)

// ErrUnauthenticated is for Middleware.Tenant: the request says not whose it is, and is answered 401.
var ErrUnauthenticated = errors.New("the request says not whose it is")

// SingleTenant is the Tenant of a service whose callers all share one namespace of keys, and may see each other's answers.
func SingleTenant(*http.Request) (string, error) { return "*", nil }

// TenantFrom is whose request a handler works on, as Middleware.Tenant said; "" where it was not asked, as for a safe method.
func TenantFrom(ctx context.Context) string {
	tenant, _ := ctx.Value(tenantContext{}).(string)
	return tenant
}

type tenantContext struct{}
