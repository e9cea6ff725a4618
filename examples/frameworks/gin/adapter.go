package main

import (
	"bufio"
	"context"
	"net"
	"net/http"

	"github.com/gin-gonic/gin"
	"github.com/jackc/pgx/v5"

	"github.com/pgidem/pgidem/idem/idemhttp"
)

// leased is h behind keys in lease mode, for effects outside the database. It is the last handler of its route, behind
// authentication: POST("/charges", leased(keys, charge)). h finds its lease in c.Request.Context().
func leased(keys *idemhttp.Middleware, h gin.HandlerFunc) gin.HandlerFunc {
	return adapted(keys.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		within(w, r, h)
	})))
}

// atomic is h behind keys in atomic mode, for effects that are rows: they commit together with the answer. An error rolls back
// and is answered 500. It is the last handler of its route, too.
func atomic(keys *idemhttp.Middleware, h func(c *gin.Context, tx pgx.Tx) error) gin.HandlerFunc {
	return adapted(keys.HandlerTx(func(w http.ResponseWriter, r *http.Request, tx pgx.Tx) (err error) {
		within(w, r, func(c *gin.Context) { err = h(c, tx) })
		return err
	}))
}

type ginContext struct{}

// adapted tells the middleware the route, and h the gin.Context. The endpoint of a key is named "POST /orders/:order/charges".
func adapted(h http.Handler) gin.HandlerFunc {
	return func(c *gin.Context) {
		r := c.Request.WithContext(context.WithValue(c.Request.Context(), ginContext{}, c))
		r.Pattern = c.FullPath()
		h.ServeHTTP(c.Writer, r)
	}
}

// within runs h with the request and the recorder of the middleware in its gin.Context. They are taken out again however h ends,
// so that gin.Recovery answers a panic to the client and not to the recorder.
func within(w http.ResponseWriter, r *http.Request, h gin.HandlerFunc) {
	c := r.Context().Value(ginContext{}).(*gin.Context)
	writer, request, had := c.Writer, c.Request, len(c.Errors)
	defer func() { c.Writer, c.Request = writer, request }()
	rec := &recorder{ResponseWriter: writer, under: w, status: http.StatusOK, size: -1}
	c.Writer, c.Request = rec, r
	h(c)
	if len(c.Errors) > had && !rec.Written() && rec.status < 400 {
		rec.status = http.StatusInternalServerError // left to a handler of errors further out: no success to be recorded
	}
	rec.WriteHeaderNow()
}

// recorder is the gin.ResponseWriter of a handler under a key. Like gin's own it keeps the status until there is a body, and so
// the last one counts.
type recorder struct {
	gin.ResponseWriter // the client's, for CloseNotify and Pusher
	under              http.ResponseWriter
	status, size       int // size -1: nothing is written
}

func (r *recorder) Header() http.Header         { return r.under.Header() }
func (r *recorder) Unwrap() http.ResponseWriter { return r.under }
func (r *recorder) Status() int                 { return r.status }
func (r *recorder) Size() int                   { return r.size }
func (r *recorder) Written() bool               { return r.size >= 0 }

func (r *recorder) WriteHeader(status int) {
	if status > 0 && !r.Written() {
		r.status = status
	}
}

func (r *recorder) WriteHeaderNow() {
	if !r.Written() {
		r.size = 0
		r.under.WriteHeader(r.status)
	}
}

func (r *recorder) Write(b []byte) (int, error) {
	r.WriteHeaderNow()
	n, err := r.under.Write(b)
	r.size += n
	return n, err
}

func (r *recorder) WriteString(s string) (int, error) { return r.Write([]byte(s)) }

func (r *recorder) Flush() {
	r.WriteHeaderNow()
	_ = http.NewResponseController(r.under).Flush() // what cannot be sent now is sent at the end
}

func (r *recorder) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return http.NewResponseController(r.under).Hijack() // refused: it would go past the record
}
