package main

import (
	"context"
	"net/http"

	"github.com/jackc/pgx/v5"
	"github.com/labstack/echo/v4"

	"github.com/pgidem/pgidem/idem/idemhttp"
)

// leased is h behind keys in lease mode, for effects outside the database: POST("/charges", leased(keys, charge)), behind
// authentication. h finds its lease in c.Request().Context(). Its error is answered by echo's HTTPErrorHandler, and that answer is
// what becomes of the key: an echo.HTTPError of 402 is recorded, one of 500 leaves the outcome unknown.
func leased(keys *idemhttp.Middleware, h echo.HandlerFunc) echo.HandlerFunc {
	return adapted(keys.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := within(w, r, h); err != nil {
			w.WriteHeader(http.StatusInternalServerError) // unless h has written something else
		}
	})))
}

// atomic is h behind keys in atomic mode, for effects that are rows: they commit together with the answer. An error is answered
// as above and rolls back; a refusal, such as an echo.HTTPError of 402, is recorded.
func atomic(keys *idemhttp.Middleware, h func(c echo.Context, tx pgx.Tx) error) echo.HandlerFunc {
	return adapted(keys.HandlerTx(func(w http.ResponseWriter, r *http.Request, tx pgx.Tx) error {
		return within(w, r, func(c echo.Context) error { return h(c, tx) })
	}))
}

type echoContext struct{}

// adapted tells the middleware the route, and h the echo.Context. The endpoint of a key is named "POST /orders/:order/charges".
func adapted(h http.Handler) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request().WithContext(context.WithValue(c.Request().Context(), echoContext{}, c))
		r.Pattern = c.Path()
		h.ServeHTTP(c.Response(), r)
		return nil
	}
}

// within runs h with the request and the recorder of the middleware in its echo.Context. They are taken out again however h ends,
// so that echo's Recover answers a panic to the client and not to the recorder. An error that it returns is not answered.
func within(w http.ResponseWriter, r *http.Request, h echo.HandlerFunc) error {
	c := r.Context().Value(echoContext{}).(echo.Context)
	response, request := c.Response(), c.Request()
	defer func() {
		c.SetResponse(response)
		c.SetRequest(request)
	}()
	recorded := echo.NewResponse(w, c.Echo())
	c.SetResponse(recorded)
	c.SetRequest(r)
	err := h(c)
	if err == nil || recorded.Committed {
		return err // an error after an answer
	}
	if c.Error(err); recorded.Committed {
		return nil
	}
	return err
}
