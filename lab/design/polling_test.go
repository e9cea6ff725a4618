package design

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestPollingEndsWithTheAnswer(t *testing.T) {
	looks := 0
	o, err := Polling{Every: time.Millisecond, Times: 200}.until(t.Context(), func() (Outcome, error) {
		if looks++; looks < 3 {
			return Outcome{Kind: InFlight}, nil
		}
		return Outcome{Replayed, 7}, nil
	})
	if err != nil || looks != 3 || o != (Outcome{Replayed, 7}) {
		t.Errorf("%+v, %v after %d looks; want the answer after 3", o, err, looks)
	}
}

func TestPollingGivesUpWithA409(t *testing.T) {
	for _, c := range []struct{ times, looks int }{{0, 1}, {1, 1}, {4, 4}} {
		looks := 0
		o, err := Polling{Every: time.Millisecond, Times: c.times}.until(t.Context(), func() (Outcome, error) {
			looks++
			return Outcome{Kind: InFlight}, nil
		})
		if err != nil || o.Kind != InFlight || looks != c.looks {
			t.Errorf("%d times: %+v, %v after %d looks; want in flight after %d", c.times, o, err, looks, c.looks)
		}
	}
	if got := ArticlePolling.Patience(); got != 5*time.Second {
		t.Errorf("the article's claim gives up after %s, want 5 s", got)
	}
}

func TestPollingEndsWithAnErrorOrWithItsCaller(t *testing.T) {
	broken, gone := errors.New("broken"), errors.New("gone")
	patient := Polling{Every: time.Hour, Times: 200}
	if _, err := patient.until(t.Context(), func() (Outcome, error) { return Outcome{}, broken }); !errors.Is(err, broken) {
		t.Errorf("error %v, want the look's", err)
	}
	ctx, leave := context.WithCancelCause(t.Context())
	_, err := patient.until(ctx, func() (Outcome, error) {
		leave(gone)
		return Outcome{Kind: InFlight}, nil
	})
	if !errors.Is(err, gone) {
		t.Errorf("error %v, want the caller's", err)
	}
}
