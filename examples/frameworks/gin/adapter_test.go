package main

import (
	"errors"
	"net/http"
	"testing"

	"github.com/gin-gonic/gin"
	"github.com/jackc/pgx/v5"

	"github.com/pgidem/pgidem/examples/frameworks/internal/contract"
)

func engine(middleware ...gin.HandlerFunc) *gin.Engine {
	gin.SetMode(gin.ReleaseMode)
	r := gin.New()
	r.Use(middleware...)
	return r
}

// c.Status alone writes nothing: gin leaves that to the end of the request, which for the recorder is the end of the handler.
func TestStatusWithoutABodyIsRecorded(t *testing.T) {
	r := engine()
	r.POST("/", leased(contract.Keys(t), func(c *gin.Context) {
		c.Status(http.StatusCreated)
		c.Status(http.StatusAccepted) // the last one counts
		if c.Writer.Written() || c.Writer.Status() != http.StatusAccepted || c.Writer.Size() != -1 {
			t.Errorf("gin.ResponseWriter says written %v, status %d, size %d", c.Writer.Written(), c.Writer.Status(), c.Writer.Size())
		}
		c.Header("Location", "/jobs/1")
	}))
	first, again := contract.Twice(t, r, "/")
	for _, a := range []contract.Answer{first, again} {
		if a.Status != http.StatusAccepted || a.Body != "" || a.Header.Get("Location") != "/jobs/1" {
			t.Errorf("%+v", a)
		}
	}
	if first.Replayed || !again.Replayed {
		t.Errorf("replayed: %v, then %v", first.Replayed, again.Replayed)
	}
}

// A handler that leaves its error to a middleware further out has written nothing, which net/http would take for a success.
func TestErrorLeftToAnOuterMiddlewareIsNoSuccess(t *testing.T) {
	render := func(c *gin.Context) {
		if c.Next(); len(c.Errors) > 0 && !c.Writer.Written() {
			c.JSON(http.StatusTeapot, gin.H{"error": "rendered outside"})
		}
	}
	keys := contract.Keys(t)
	r := engine(render)
	r.POST("/charges", leased(keys, func(c *gin.Context) { _ = c.Error(errors.New("unknown")) }))
	r.POST("/orders", atomic(keys, func(c *gin.Context, _ pgx.Tx) error {
		_ = c.Error(errors.New("rolled back"))
		return nil
	}))
	first, again := contract.Twice(t, r, "/charges")
	if first.Status != http.StatusTeapot || first.Body != `{"error":"rendered outside"}` || again.Problem != "outcome-unknown" {
		t.Errorf("lease mode: %+v, then %+v", first, again)
	}
	if first, again = contract.Twice(t, r, "/orders"); first.Status != http.StatusTeapot || again.Status != http.StatusTeapot || again.Replayed {
		t.Errorf("atomic mode: %+v, then %+v", first, again)
	}
}

func TestOuterMiddlewareSeesStatusAndSizeOfEveryAnswer(t *testing.T) {
	var seen [][2]int
	r := engine(func(c *gin.Context) {
		c.Next()
		seen = append(seen, [2]int{c.Writer.Status(), c.Writer.Size()})
	})
	r.POST("/", leased(contract.Keys(t), func(c *gin.Context) {
		c.String(http.StatusCreated, "made ")
		_, _ = c.Writer.WriteString("twice")
		if c.Writer.Size() != 10 || !c.Writer.Written() {
			t.Errorf("the handler sees %d bytes, written %v", c.Writer.Size(), c.Writer.Written())
		}
	}))
	if first, again := contract.Twice(t, r, "/"); first.Body != "made twice" || again.Body != first.Body {
		t.Errorf("%+v, then %+v", first, again)
	}
	if want := [2]int{http.StatusCreated, 10}; len(seen) != 2 || seen[0] != want || seen[1] != want {
		t.Errorf("status and size were %v, want %v twice", seen, want)
	}
}

func TestStreamIsNotKeptAndNotRunAgain(t *testing.T) {
	runs := 0
	r := engine()
	r.POST("/", leased(contract.Keys(t), func(c *gin.Context) {
		runs++
		for range 3 {
			c.SSEvent("line", "x")
			c.Writer.Flush()
		}
		if _, _, err := c.Writer.Hijack(); !errors.Is(err, http.ErrNotSupported) {
			t.Errorf("hijacking: %v", err)
		}
	}))
	first, again := contract.Twice(t, r, "/")
	if first.Status != http.StatusOK || len(first.Body) != 3*len("event:line\ndata:x\n\n") || again.Problem != "response-not-kept" || runs != 1 {
		t.Errorf("%+v, then %+v, %d runs", first, again, runs)
	}
}
