package main

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/gin-gonic/gin"
	"github.com/jackc/pgx/v5"

	"github.com/pgidem/pgidem/examples/frameworks/internal/shop"
	"github.com/pgidem/pgidem/idem/idemhttp"
)

// routes are the program.
func routes(s *shop.Shop) http.Handler {
	gin.SetMode(gin.ReleaseMode)
	r := gin.New()
	r.Use(gin.Recovery(), authenticated(s))
	v1 := r.Group("/v1/orders/:order")
	v1.POST("/items", atomic(s.Keys, add(s)))
	v1.POST("/charges", leased(s.Keys, charge(s)))
	v1.GET("/items", leased(s.Keys, count(s))) // a safe method: it passes
	return r
}

func authenticated(s *shop.Shop) gin.HandlerFunc {
	return func(c *gin.Context) {
		r, ok := s.Authenticate(c.Request)
		if !ok {
			c.AbortWithStatusJSON(http.StatusUnauthorized, gin.H{"error": "no token, or one that is not known"})
			return
		}
		c.Request = r
		c.Next()
	}
}

// add is atomic mode: item, key and answer commit together.
func add(s *shop.Shop) func(*gin.Context, pgx.Tx) error {
	return func(c *gin.Context, tx pgx.Tx) error {
		var item shop.Item
		if err := c.ShouldBindJSON(&item); err != nil {
			c.AbortWithStatusJSON(http.StatusBadRequest, gin.H{"error": "the body is no item"})
			return nil
		}
		tenant, err := shop.Tenant(c.Request)
		if err != nil {
			return err
		}
		order := c.Param("order")
		id, err := s.Add(c.Request.Context(), tx, tenant, order, item)
		if errors.Is(err, shop.ErrRefused) {
			c.AbortWithStatusJSON(http.StatusPaymentRequired, gin.H{"error": "refused"})
			return nil
		}
		if err != nil {
			return err // 500; rolled back, and the key is free
		}
		c.SetCookie("last", order, 0, "", "", false, true)
		c.Header("Location", fmt.Sprintf("/v1/orders/%s/items/%d", order, id))
		c.JSON(http.StatusCreated, shop.Added{ID: id, Order: order, Item: item})
		return nil
	}
}

// charge is lease mode: the call goes out under the lease's downstream key.
func charge(s *shop.Shop) gin.HandlerFunc {
	return func(c *gin.Context) {
		var bill shop.Bill
		if err := c.ShouldBindJSON(&bill); err != nil {
			c.AbortWithStatusJSON(http.StatusBadRequest, gin.H{"error": "the body is no bill"})
			return
		}
		order := c.Param("order")
		lease, _ := idemhttp.LeaseFrom(c.Request.Context())
		id, err := s.Charge(c.Request.Context(), lease.DownstreamKey("charge"), order, bill.Cents)
		switch {
		case errors.Is(err, shop.ErrRefused):
			c.AbortWithStatusJSON(http.StatusPaymentRequired, gin.H{"error": "refused"})
		case err != nil: // it may have happened
			_ = c.AbortWithError(http.StatusInternalServerError, err)
		default:
			c.SetCookie("last", order, 0, "", "", false, true)
			c.Header("Location", "/v1/charges/"+id)
			c.JSON(http.StatusCreated, shop.Charged{ID: id, Order: order, Cents: bill.Cents})
		}
	}
}

func count(s *shop.Shop) gin.HandlerFunc {
	return func(c *gin.Context) {
		tenant, err := shop.Tenant(c.Request)
		if err != nil {
			_ = c.AbortWithError(http.StatusUnauthorized, err)
			return
		}
		n, err := s.Items(c.Request.Context(), tenant, c.Param("order"))
		if err != nil {
			_ = c.AbortWithError(http.StatusInternalServerError, err)
			return
		}
		c.JSON(http.StatusOK, shop.Count{Items: n})
	}
}
