// Gin is a shop behind gin. What fits its handlers to the middleware is in adapter.go, to be copied.
//
//	POST /v1/orders/:order/items    {"note": "…", "cents": 4900}    a row: atomic mode
//	POST /v1/orders/:order/charges  {"cents": 4900}                 a call to somebody else: lease mode
//	GET  /v1/orders/:order/items
//
// Each wants a bearer token (acme-secret, globex-secret), a POST an Idempotency-Key. It prints "listening on http://ADDRESS"
// when it can be called.
package main

import "github.com/pgidem/pgidem/examples/frameworks/internal/shop"

func main() { shop.Main("gin", routes) }
