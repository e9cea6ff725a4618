package main

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/jackc/pgx/v5"
	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"

	"github.com/pgidem/pgidem/examples/frameworks/internal/shop"
	"github.com/pgidem/pgidem/idem/idemhttp"
)

// routes are the program.
func routes(s *shop.Shop) http.Handler {
	e := echo.New()
	e.Use(middleware.Recover(), authenticated(s))
	v1 := e.Group("/v1/orders/:order")
	v1.POST("/items", atomic(s.Keys, add(s)))
	v1.POST("/charges", leased(s.Keys, charge(s)))
	v1.GET("/items", leased(s.Keys, count(s))) // a safe method: it passes
	return e
}

func authenticated(s *shop.Shop) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			r, ok := s.Authenticate(c.Request())
			if !ok {
				return echo.NewHTTPError(http.StatusUnauthorized, "no token, or one that is not known")
			}
			c.SetRequest(r)
			return next(c)
		}
	}
}

// refused is a definitive refusal as echo has it, or the error itself.
func refused(err error) error {
	if errors.Is(err, shop.ErrRefused) {
		return echo.NewHTTPError(http.StatusPaymentRequired, "refused")
	}
	return err
}

// add is atomic mode: item, key and answer commit together.
func add(s *shop.Shop) func(echo.Context, pgx.Tx) error {
	return func(c echo.Context, tx pgx.Tx) error {
		var item shop.Item
		if err := c.Bind(&item); err != nil {
			return err
		}
		tenant, err := shop.Tenant(c.Request())
		if err != nil {
			return err
		}
		order := c.Param("order")
		id, err := s.Add(c.Request().Context(), tx, tenant, order, item)
		if err != nil {
			return refused(err) // rolled back; but for a refusal the key is free
		}
		c.SetCookie(&http.Cookie{Name: "last", Value: order})
		c.Response().Header().Set("Location", fmt.Sprintf("/v1/orders/%s/items/%d", order, id))
		return c.JSON(http.StatusCreated, shop.Added{ID: id, Order: order, Item: item})
	}
}

// charge is lease mode: the call goes out under the lease's downstream key.
func charge(s *shop.Shop) echo.HandlerFunc {
	return func(c echo.Context) error {
		var bill shop.Bill
		if err := c.Bind(&bill); err != nil {
			return err
		}
		order := c.Param("order")
		lease, _ := idemhttp.LeaseFrom(c.Request().Context())
		id, err := s.Charge(c.Request().Context(), lease.DownstreamKey("charge"), order, bill.Cents)
		if err != nil {
			return refused(err) // any other may have happened, and is 500
		}
		c.SetCookie(&http.Cookie{Name: "last", Value: order})
		c.Response().Header().Set("Location", "/v1/charges/"+id)
		return c.JSON(http.StatusCreated, shop.Charged{ID: id, Order: order, Cents: bill.Cents})
	}
}

func count(s *shop.Shop) echo.HandlerFunc {
	return func(c echo.Context) error {
		tenant, err := shop.Tenant(c.Request())
		if err != nil {
			return echo.ErrUnauthorized
		}
		n, err := s.Items(c.Request().Context(), tenant, c.Param("order"))
		if err != nil {
			return err
		}
		return c.JSON(http.StatusOK, shop.Count{Items: n})
	}
}
