package main

import (
	"errors"
	"net/http"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/labstack/echo/v4"

	"github.com/pgidem/pgidem/examples/frameworks/internal/contract"
)

var errBroken = errors.New("broken")

// An error after c.JSON would commit rows and a 201 if the adapter looked at the answer alone.
func TestErrorAfterTheAnswerRollsBack(t *testing.T) {
	runs := 0
	e := echo.New()
	e.POST("/", atomic(contract.Keys(t), func(c echo.Context, _ pgx.Tx) error {
		if err := c.String(http.StatusCreated, "made"); err != nil {
			return err
		}
		if runs++; runs == 1 {
			return errBroken
		}
		return nil
	}))
	first, again := contract.Twice(t, e, "/")
	if first.Status != http.StatusInternalServerError || first.Problem != "failed" || again.Status != http.StatusCreated || again.Replayed {
		t.Errorf("%+v, then %+v", first, again)
	}
}

// A central error handler that writes nothing leaves what net/http would take for a success.
func TestErrorThatNobodyAnswersIsNoSuccess(t *testing.T) {
	keys := contract.Keys(t)
	e := echo.New()
	e.HTTPErrorHandler = func(error, echo.Context) {}
	e.POST("/charges", leased(keys, func(echo.Context) error { return errBroken }))
	e.POST("/orders", atomic(keys, func(echo.Context, pgx.Tx) error { return errBroken }))
	if first, again := contract.Twice(t, e, "/charges"); first.Status != http.StatusInternalServerError || again.Problem != "outcome-unknown" {
		t.Errorf("lease mode: %+v, then %+v", first, again)
	}
	if first, again := contract.Twice(t, e, "/orders"); first.Problem != "failed" || again.Problem != "failed" {
		t.Errorf("atomic mode: %+v, then %+v", first, again)
	}
}

func TestErrorHandlersAnswerIsWhatBecomesOfTheKey(t *testing.T) {
	e := echo.New()
	e.HTTPErrorHandler = func(err error, c echo.Context) {
		_ = c.String(http.StatusUnprocessableEntity, err.Error())
	}
	e.POST("/", leased(contract.Keys(t), func(echo.Context) error { return errBroken }))
	first, again := contract.Twice(t, e, "/")
	if first.Status != http.StatusUnprocessableEntity || first.Body != "broken" || !again.Replayed || again.Body != first.Body {
		t.Errorf("%+v, then %+v", first, again)
	}
}

func TestOuterMiddlewareSeesStatusAndSizeOfEveryAnswer(t *testing.T) {
	type answered struct {
		status int
		size   int64
	}
	var seen []answered
	e := echo.New()
	e.Use(func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			c.Response().Before(func() { c.Response().Header().Set("X-Served-By", "a-1") })
			err := next(c)
			seen = append(seen, answered{c.Response().Status, c.Response().Size})
			return err
		}
	})
	e.POST("/", leased(contract.Keys(t), func(c echo.Context) error { return c.String(http.StatusCreated, "made") }))
	first, again := contract.Twice(t, e, "/")
	for _, a := range []contract.Answer{first, again} {
		if a.Body != "made" || a.Header.Get("X-Served-By") != "a-1" {
			t.Errorf("%+v", a)
		}
	}
	if want := (answered{http.StatusCreated, 4}); len(seen) != 2 || seen[0] != want || seen[1] != want {
		t.Errorf("status and size were %v, want %v twice", seen, want)
	}
}

func TestNoContentIsRecorded(t *testing.T) {
	e := echo.New()
	e.POST("/", leased(contract.Keys(t), func(c echo.Context) error { return c.NoContent(http.StatusNoContent) }))
	if first, again := contract.Twice(t, e, "/"); first.Status != http.StatusNoContent || again.Status != http.StatusNoContent || !again.Replayed {
		t.Errorf("%+v, then %+v", first, again)
	}
}

func TestStreamIsNotKeptAndNotRunAgain(t *testing.T) {
	runs := 0
	e := echo.New()
	e.POST("/", leased(contract.Keys(t), func(c echo.Context) error {
		runs++
		for range 3 {
			if _, err := c.Response().Write([]byte("line\n")); err != nil {
				return err
			}
			c.Response().Flush()
		}
		if _, _, err := c.Response().Hijack(); !errors.Is(err, http.ErrNotSupported) {
			t.Errorf("hijacking: %v", err)
		}
		return nil
	}))
	first, again := contract.Twice(t, e, "/")
	if first.Status != http.StatusOK || first.Body != "line\nline\nline\n" || again.Problem != "response-not-kept" || runs != 1 {
		t.Errorf("%+v, then %+v, %d runs", first, again, runs)
	}
}
